#include "read.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace penstock {

namespace {

// Reads all of it unless the file ends; returns errno, 0 when the file gave what it had.
int read_whole(int file, const ReadRequest& request, int64_t& got) {
  while (got < request.length) {
    const int64_t wanted = std::min<int64_t>(request.length - got, 1 << 30);  // some systems refuse more at a time
    const ssize_t n = pread(file, request.into + got, static_cast<size_t>(wanted), request.offset + got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return 0;
    got += n;
  }
  return 0;
}

}  // namespace

std::vector<ReadFailure> read_ranges(const std::vector<ReadRequest>& requests) {
  std::vector<ReadFailure> failures;
  const char* path = nullptr;
  int file = -1, open_error = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    const ReadRequest& request = requests[i];
    if (request.path != path) {
      if (file >= 0) close(file);
      path = request.path;
      do file = open(path, O_RDONLY | O_CLOEXEC);
      while (file < 0 && errno == EINTR);
      open_error = file < 0 ? errno : 0;
    }
    int64_t got = 0;
    const int error = file < 0 ? open_error : read_whole(file, request, got);
    if (error || got < request.length) failures.push_back({i, error, got});
  }
  if (file >= 0) close(file);
  return failures;
}

}  // namespace penstock
