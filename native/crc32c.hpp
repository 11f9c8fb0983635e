// CRC-32C (Castagnoli): the checksum of the index. Uses the processor's instruction where it has one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

// The checksum of data that follows data whose checksum is `before`; 0 to begin with.
uint32_t crc32c(const uint8_t* data, size_t size, uint32_t before = 0);

}  // namespace penstock
