#include "read.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#endif

namespace penstock {

namespace {

constexpr int64_t kLarge = 1 << 20;   // from here on a request is worth looking up in the page cache
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

// Brings a range into the page cache in pages of 2 MiB. An ordinary read takes the smallest pages until it has been
// sequential for long, and no request to the device can have more than 256 of them.
void bring(int file, int64_t offset, int64_t length) {
  constexpr int kPopulateRead = 22;
  const int64_t page = sysconf(_SC_PAGESIZE), begin = offset / page * page;
  const size_t size = static_cast<size_t>(offset + length - begin);
  void* view = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, begin);
  if (view == MAP_FAILED) return;
  // The view is never looked at, so a file that is cut short meanwhile costs nothing but this call's success.
  if (madvise(view, size, MADV_HUGEPAGE) == 0 && madvise(view, size, MADV_RANDOM) == 0) (void)madvise(view, size, kPopulateRead);
  munmap(view, size);
}

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
void bring(int, int64_t, int64_t) {}
void announce(int, int64_t, int64_t) {}
uint64_t place_on_device(int, int64_t) { return 0; }

#endif

// A file and the requests that are about it.
struct Run {
  size_t first, last;
  int file = -1, error = 0;
  uint64_t place = 0;
};

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
  const Way way = request.way;
  if (way != Way::kExact && request.length >= kLarge && !is_cached(file, request.offset, request.length)) {
    // A request that is not possible in this way is done in the ordinary one, which also finds out what is wrong.
    if (way == Way::kDirect && read_direct(request.path, request, got) == 0) return 0;
    if (way == Way::kGenerous) bring(file, request.offset, request.length);
    got = 0;
  }
  return read_whole(file, request, got);
}

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
    std::vector<std::pair<const Run*, size_t>> order;
    for (size_t i = begin; i < end; ++i)
      for (size_t request = runs[i].first; request < runs[i].last; ++request) order.emplace_back(&runs[i], request);
    for (size_t i = 0, announced = 0; i < order.size(); ++i) {
      for (; order.size() > 1 && announced < std::min(i + kUnderWay, order.size()); ++announced) {
        const ReadRequest& next = requests[order[announced].second];
        if (order[announced].first->file >= 0 && next.length < kLarge) announce(order[announced].first->file, next.offset, next.length);
      }
      const auto [run, number] = order[i];
      int64_t got = 0;
      const int error = run->file < 0 ? run->error : read_one(run->file, requests[number], got);
      if (error || got < requests[number].length) failures.push_back({number, error, got});
    }
    for (size_t i = begin; i < end; ++i)
      if (runs[i].file >= 0) close(runs[i].file);
  }
  std::sort(failures.begin(), failures.end(), [](const ReadFailure& a, const ReadFailure& b) { return a.request < b.request; });
  return failures;
}

}  // namespace penstock
