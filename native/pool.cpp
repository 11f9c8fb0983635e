#include "pool.hpp"

#include <unistd.h>

#include "signals.hpp"

namespace penstock {

Pool::Pool(int threads) : count_(threads), process_(getpid()) {
  const SignalsBlocked blocked;
  try {
    for (int i = 0; i < threads; ++i) workers_.emplace_back([this] { work(); });
  } catch (...) {  // the system gives no more threads
    close();
    throw;
  }
}

void Pool::close() {
  if (getpid() != process_) {
    // After a fork the threads exist only in the parent; there is nothing to join here.
    for (auto& worker : workers_) worker.detach();
    workers_.clear();
    return;
  }
  std::lock_guard closing(closing_);
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  arrived_.notify_all();
  for (auto& worker : workers_) worker.join();
  workers_.clear();
}

void Pool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    arrived_.wait(lock, [this] { return closed_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const std::shared_ptr<Job> job = jobs_.front();
    lock.unlock();
    size_t mine = 0;
    for (size_t i; (i = job->next.fetch_add(1)) < job->count; ++mine) (*job->item)(i);
    if (mine > 0 && job->done.fetch_add(mine) + mine == job->count) {
      std::lock_guard job_lock(job->mutex);
      job->finished.notify_all();
    }
    lock.lock();
    if (!jobs_.empty() && jobs_.front() == job) jobs_.pop_front();
  }
}

bool Pool::run(size_t count, const std::function<void(size_t)>& item) {
  if (count_ == 0) {
    for (size_t i = 0; i < count; ++i) item(i);
    return true;
  }
  if (getpid() != process_) return false;
  if (count == 0) return true;
  auto job = std::make_shared<Job>();
  job->count = count;
  job->item = &item;
  {
    std::lock_guard lock(mutex_);
    if (closed_) return false;
    jobs_.push_back(job);
  }
  arrived_.notify_all();
  std::unique_lock lock(job->mutex);
  job->finished.wait(lock, [&] { return job->done.load() == count; });
  return true;
}

}  // namespace penstock
