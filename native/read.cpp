#include "read.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "signals.hpp"

#ifdef __linux__
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#endif

namespace penstock {

namespace {

constexpr int64_t kLarge = 1 << 20;   // from here on a request is worth a way and a thread of its own
constexpr size_t kAtOnce = 4;         // large requests under way: while one is copied or begun, the disk has others
constexpr size_t kUnderWay = 16;      // small requests announced ahead: enough to keep a disk's queue filled
constexpr size_t kFilesAtOnce = 128;  // open at a time; well below any limit on open files

int open_file(const char* path, int flags) {
  int file;
  do file = open(path, O_RDONLY | O_CLOEXEC | flags);
  while (file < 0 && errno == EINTR);
  return file;
}

// Reads all of it unless the file ends; returns errno, 0 when the file gave what it had.
int read_whole(int file, const ReadRequest& request, int64_t& got, bool direct = false) {
  while (got < request.length) {
    const int64_t wanted = std::min<int64_t>(request.length - got, 1 << 30);  // some systems refuse more at a time
    const ssize_t n = pread(file, request.into + got, static_cast<size_t>(wanted), request.offset + got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    got += n;
    if (n == 0 || (direct && n % kAlignment)) return 0;  // the end of the file
  }
  return 0;
}

#ifdef __linux__

// Whether the page cache has all of a range. Where the kernel does not say (before 6.5, or files of others): no.
bool is_cached(int file, int64_t offset, int64_t length) {
  struct { uint64_t offset, length; } range{static_cast<uint64_t>(offset), static_cast<uint64_t>(length)};
  struct { uint64_t cached, dirty, writeback, evicted, recently_evicted; } found{};
  constexpr long kCachestat = 451;
  if (syscall(kCachestat, file, &range, &found, 0u) != 0) return false;
  const int64_t page = sysconf(_SC_PAGESIZE);
  return static_cast<int64_t>(found.cached) >= (offset + length + page - 1) / page - offset / page;
}

// Brings a range into the page cache in pages of 2 MiB and copies it from there; false where that did not work out. An
// ordinary read takes the smallest pages until it has been sequential for long, and no request to the device can have
// more than 256 of them; and where it meets pages of 2 MiB it takes them for a sign to read megabytes ahead.
bool read_generously(int file, const ReadRequest& request, int64_t& got) {
  constexpr int kPopulateRead = 22;
  struct stat about;
  if (fstat(file, &about) != 0) return false;
  const int64_t page = sysconf(_SC_PAGESIZE), begin = request.offset / page * page;
  const int64_t length = std::min<int64_t>(request.length, about.st_size - request.offset);
  if (length <= 0) return false;
  const size_t size = static_cast<size_t>(request.offset + length - begin);
  void* view = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, begin);
  if (view == MAP_FAILED) return false;
  // A file that is cut short meanwhile must not end this process, as looking into the view would: the kernel looks.
  const iovec to{request.into, static_cast<size_t>(length)};
  const iovec from{static_cast<char*>(view) + (request.offset - begin), static_cast<size_t>(length)};
  const bool is_read = madvise(view, size, MADV_HUGEPAGE) == 0 && madvise(view, size, MADV_RANDOM) == 0 &&
                       madvise(view, size, kPopulateRead) == 0 && process_vm_readv(getpid(), &to, 1, &from, 1, 0) == length;
  munmap(view, size);
  if (is_read) got = length;
  return is_read;
}

// Tells the kernel to read what it is asked for and nothing else.
void expect_jumps(int file) { (void)posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM); }

void announce(int file, int64_t offset, int64_t length) { (void)posix_fadvise(file, offset, length, POSIX_FADV_WILLNEED); }

// Where the byte at `offset` lies on the device; 0 where the file system does not say.
uint64_t place_on_device(int file, int64_t offset) {
  alignas(struct fiemap) unsigned char memory[sizeof(struct fiemap) + sizeof(struct fiemap_extent)] = {};
  auto* query = reinterpret_cast<struct fiemap*>(memory);
  query->fm_start = static_cast<uint64_t>(offset);
  query->fm_length = 1;
  query->fm_extent_count = 1;
  if (ioctl(file, FS_IOC_FIEMAP, query) != 0 || query->fm_mapped_extents == 0) return 0;
  const struct fiemap_extent& extent = query->fm_extents[0];
  return extent.fe_flags & FIEMAP_EXTENT_UNKNOWN ? 0 : extent.fe_physical;
}

#else

bool is_cached(int, int64_t, int64_t) { return false; }
bool read_generously(int, const ReadRequest&, int64_t&) { return false; }
void expect_jumps(int) {}
void announce(int, int64_t, int64_t) {}
uint64_t place_on_device(int, int64_t) { return 0; }

#endif

int read_direct(const char* path, const ReadRequest& request, int64_t& got) {
#ifdef O_DIRECT
  if (request.offset % kAlignment || request.length % kAlignment || reinterpret_cast<uintptr_t>(request.into) % kAlignment) return EINVAL;
  const int file = open_file(path, O_DIRECT);
  if (file < 0) return errno;
  const int error = read_whole(file, request, got, true);
  close(file);
  return error;
#else
  (void)path, (void)request, (void)got;
  return EINVAL;
#endif
}

int read_one(int file, const ReadRequest& request, int64_t& got) {
  if (request.way != Way::kOrdinary && request.length >= kLarge) {
    // What is not possible in its way is done in the one before it, which also finds out what is wrong.
    if (request.way == Way::kGenerous && read_generously(file, request, got)) return 0;
    if (request.way == Way::kDirect && !is_cached(file, request.offset, request.length)) {
      if (read_direct(request.path, request, got) == 0) return 0;
      got = 0;
    }
    expect_jumps(file);
  }
  return read_whole(file, request, got);
}

// A file, the requests that are about it, and where on the device it begins.
struct Run {
  size_t first, last;
  int file = -1, error = 0;
  uint64_t place = 0;
};

struct Task {
  const Run* run;
  size_t number;  // of the request
};

// Carries out the requests about some open files; what fails is noted.
class Work {
 public:
  Work(const std::vector<ReadRequest>& requests, std::vector<ReadFailure>& failures) : requests_(requests), failures_(failures) {}

  void add(const Run& run) {
    for (size_t number = run.first; number < run.last; ++number)
      (requests_[number].length < kLarge ? small_ : large_).push_back({&run, number});
  }

  void carry_out() {
    for (size_t i = 0, announced = 0; i < small_.size(); ++i) {
      for (; small_.size() > 1 && announced < std::min(i + kUnderWay, small_.size()); ++announced) {
        const ReadRequest& next = requests_[small_[announced].number];
        if (small_[announced].run->file >= 0) announce(small_[announced].run->file, next.offset, next.length);
      }
      read(small_[i]);
    }
    std::atomic<size_t> next{0};
    const auto some = [&] {
      for (size_t i; (i = next.fetch_add(1)) < large_.size();) read(large_[i]);
    };
    std::vector<std::thread> helpers = with_help(some, std::min(kAtOnce, large_.size()));
    some();
    for (auto& helper : helpers) helper.join();
  }

 private:
  // Makes threads that do `some`, so that with this one there are `count`; fewer where the system gives no more.
  template <typename Some>
  static std::vector<std::thread> with_help(const Some& some, size_t count) {
    std::vector<std::thread> helpers;
    helpers.reserve(kAtOnce);  // nothing but making a thread shall fail while others run
    const SignalsBlocked blocked;
    try {
      for (size_t i = 1; i < count; ++i) helpers.emplace_back(some);
    } catch (const std::system_error&) {  // this thread suffices
    }
    return helpers;
  }

  void read(const Task& task) {
    int64_t got = 0;
    const ReadRequest& request = requests_[task.number];
    const int error = task.run->file < 0 ? task.run->error : read_one(task.run->file, request, got);
    if (!error && got == request.length) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    failures_.push_back({task.number, error, got});
  }

  const std::vector<ReadRequest>& requests_;
  std::vector<ReadFailure>& failures_;
  std::mutex mutex_;
  std::vector<Task> small_, large_;
};

}  // namespace

std::vector<ReadFailure> read_ranges(const std::vector<ReadRequest>& requests) {
  std::vector<ReadFailure> failures;
  std::vector<Run> runs;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (i == 0 || requests[i].path != requests[i - 1].path) runs.push_back({i, i});
    runs.back().last = i + 1;
  }
  for (size_t begin = 0; begin < runs.size(); begin += kFilesAtOnce) {
    const size_t end = std::min(begin + kFilesAtOnce, runs.size());
    for (size_t i = begin; i < end; ++i) {
      Run& run = runs[i];
      run.file = open_file(requests[run.first].path, 0);
      run.error = run.file < 0 ? errno : 0;
      if (end - begin > 1 && run.file >= 0) run.place = place_on_device(run.file, requests[run.first].offset);
    }
    std::stable_sort(runs.begin() + begin, runs.begin() + end, [](const Run& a, const Run& b) { return a.place < b.place; });
    Work work(requests, failures);
    for (size_t i = begin; i < end; ++i) work.add(runs[i]);
    work.carry_out();
    for (size_t i = begin; i < end; ++i)
      if (runs[i].file >= 0) close(runs[i].file);
  }
  std::sort(failures.begin(), failures.end(), [](const ReadFailure& a, const ReadFailure& b) { return a.request < b.request; });
  return failures;
}

}  // namespace penstock
