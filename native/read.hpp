// Reads byte ranges of files into the caller's memory, each from where it comes fastest.
//
// What the page cache has is copied from there. For the rest there are three ways:
//
//   exact      just these bytes, through the page cache. Many small ranges are announced to the kernel ahead, so that
//              several are under way; many files are read in the order in which they lie on the disk, where the file
//              system tells it, since a disk that seeks does so the shorter the less it has to go back and forth.
//   generous   through the page cache in its largest pages, which means a few large requests to the device, and up to
//              2 MiB more than asked for at both ends: for data that will be wanted in whole and fits into memory.
//   direct     past the page cache (O_DIRECT), for data that does not fit into memory: nothing that others could use
//              is thrown out for bytes that will not be asked for again before they are thrown out themselves. Ranges
//              must be aligned to kAlignment in the file and in memory; where the file system cannot do it: exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

enum class Way : uint8_t { kExact = 0, kGenerous = 1, kDirect = 2 };

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
