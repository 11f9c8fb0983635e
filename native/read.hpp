// Reads byte ranges of files into the caller's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

struct ReadRequest {
  const char* path;
  int64_t offset, length;
  uint8_t* into;
};

struct ReadFailure {
  size_t request;
  int error;  // errno; 0: the file ended early
  int64_t got;
};

// Runs of requests with the same `path` pointer open the file once.
std::vector<ReadFailure> read_ranges(const std::vector<ReadRequest>& requests);

}  // namespace penstock
