// Reads byte ranges of files into the caller's memory, each from where it comes fastest.
//
// What the page cache has is copied from there. For the rest there are four ways:
//
//   ordinary   through the page cache, and the kernel may read ahead. Many small ranges are announced to it, so that
//              several are under way; many files are read in the order in which they lie on the disk, where the file
//              system tells it, since a disk that seeks does so the shorter the less it has to go back and forth.
//   exact      through the page cache, and nothing but these bytes: for data of which somebody else wants the rest.
//   generous   through the page cache in its largest pages, which means a few large requests to the device, and up to
//              2 MiB more than asked for at both ends: for data that will be wanted in whole.
//   direct     past the page cache (O_DIRECT), for data that it has no room for: nothing that others could use is
//              thrown out for bytes that would be thrown out themselves before anybody asks for them again. Ranges must
//              be aligned to kAlignment in the file and in memory; where the file system cannot do it: exact.
//
// The last three are for large ranges, several of which are under way at a time; small ones are read as ordinary ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

enum class Way : uint8_t { kOrdinary = 0, kExact = 1, kGenerous = 2, kDirect = 3 };

constexpr int64_t kAlignment = 4096;

struct ReadRequest {
  const char* path;
  int64_t offset, length;
  Way way;
  uint8_t* into;
};

struct ReadFailure {
  size_t request;
  int error;  // errno; 0: the file ended early
  int64_t got;
};

// Runs of requests with the same `path` pointer open the file once. Failures come in the order of the requests.
std::vector<ReadFailure> read_ranges(const std::vector<ReadRequest>& requests);

}  // namespace penstock
