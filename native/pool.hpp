// Threads that take turns at the items of jobs. Jobs are served in order of arrival, and a thread that finds no item
// left in one goes on to the next, so no core waits at a batch's end while another batch is there.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace penstock {

class Pool {
 public:
  explicit Pool(int threads);
  ~Pool() { close(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const { return count_; }
  // Calls `item(0)` … `item(count - 1)`, each once, in the pool's threads (in this one if it has none); returns when all are done.
  // `item` must not throw. Returns false, having done nothing, if the pool's threads are closed or those of a forked parent.
  bool run(size_t count, const std::function<void(size_t)>& item);
  void close();  // waits for what is under way

 private:
  struct Job {
    size_t count;
    const std::function<void(size_t)>* item;
    std::atomic<size_t> next{0}, done{0};
    std::mutex mutex;
    std::condition_variable finished;
  };
  void work();

  const int count_;
  const int process_;
  std::vector<std::thread> workers_;
  std::mutex closing_;  // held while joining, so that everybody who closes waits for the end
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::shared_ptr<Job>> jobs_;
  bool closed_ = false;
};

}  // namespace penstock
