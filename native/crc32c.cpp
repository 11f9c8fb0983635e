#include "crc32c.hpp"

#include <array>
#include <cstring>

#include "simd.hpp"

#if defined(__aarch64__)
#include <arm_acle.h>
#endif

namespace penstock {

namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // bit-reversed

using Table = std::array<uint32_t, 256>;

constexpr Table make_table() {
  Table table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value & 1 ? value >> 1 ^ kPolynomial : value >> 1;
    table[i] = value;
  }
  return table;
}

// table[k][b]: the effect of byte b followed by k zero bytes, so that eight bytes take eight independent look-ups.
constexpr std::array<Table, 8> make_slices() {
  std::array<Table, 8> slices{};
  slices[0] = make_table();
  for (int k = 1; k < 8; ++k)
    for (int b = 0; b < 256; ++b) slices[k][b] = slices[k - 1][b] >> 8 ^ slices[0][slices[k - 1][b] & 255];
  return slices;
}

constexpr auto kSlices = make_slices();

uint32_t update_scalar(uint32_t state, const uint8_t* data, size_t size) {
  while (size >= 8) {
    uint32_t low = state ^ (data[0] | data[1] << 8 | data[2] << 16 | static_cast<uint32_t>(data[3]) << 24);
    state = kSlices[7][low & 255] ^ kSlices[6][low >> 8 & 255] ^ kSlices[5][low >> 16 & 255] ^ kSlices[4][low >> 24] ^
            kSlices[3][data[4]] ^ kSlices[2][data[5]] ^ kSlices[1][data[6]] ^ kSlices[0][data[7]];
    data += 8;
    size -= 8;
  }
  while (size-- > 0) state = state >> 8 ^ kSlices[0][(state ^ *data++) & 255];
  return state;
}

#if PENSTOCK_X86
#define PENSTOCK_CRC32C 1
#define PENSTOCK_CRC __attribute__((target("sse4.2")))
PENSTOCK_CRC inline uint64_t add_8(uint64_t state, uint64_t word) { return _mm_crc32_u64(state, word); }
PENSTOCK_CRC inline uint32_t add_1(uint32_t state, uint8_t byte) { return _mm_crc32_u8(state, byte); }
#elif defined(__aarch64__)
#define PENSTOCK_CRC32C 1
#if defined(__ARM_FEATURE_CRC32)
#define PENSTOCK_CRC
#elif defined(__clang__)
#define PENSTOCK_CRC __attribute__((target("crc")))
#else
#define PENSTOCK_CRC __attribute__((target("+crc")))
#endif
PENSTOCK_CRC inline uint64_t add_8(uint64_t state, uint64_t word) { return __crc32cd(static_cast<uint32_t>(state), word); }
PENSTOCK_CRC inline uint32_t add_1(uint32_t state, uint8_t byte) { return __crc32cb(state, byte); }
#else
#define PENSTOCK_CRC32C 0
#endif

#if PENSTOCK_CRC32C
// The instruction takes three cycles but can start every cycle, so three runs of kRun bytes are summed side by side.
// Joining them needs "what would this state be after kRun zero bytes": a linear map, tabulated per byte of the state.
constexpr size_t kRun = 1024;

struct Shift {
  std::array<Table, 4> by_byte;
  Shift() {
    static const uint8_t zeros[kRun] = {};
    for (int byte = 0; byte < 4; ++byte)
      for (uint32_t b = 0; b < 256; ++b) by_byte[byte][b] = update_scalar(b << (8 * byte), zeros, kRun);
  }
  uint32_t operator()(uint32_t state) const {
    return by_byte[0][state & 255] ^ by_byte[1][state >> 8 & 255] ^ by_byte[2][state >> 16 & 255] ^ by_byte[3][state >> 24];
  }
};

uint64_t word_at(const uint8_t* p) {
  uint64_t value;
  std::memcpy(&value, p, 8);
  return value;
}

PENSTOCK_CRC uint32_t update_hardware(uint32_t state, const uint8_t* data, size_t size) {
  static const Shift shift;
  uint64_t a = state;
  while (size >= 3 * kRun) {
    uint64_t b = 0, c = 0;
    for (size_t i = 0; i < kRun; i += 8) {
      a = add_8(a, word_at(data + i));
      b = add_8(b, word_at(data + kRun + i));
      c = add_8(c, word_at(data + 2 * kRun + i));
    }
    a = shift(shift(static_cast<uint32_t>(a)) ^ static_cast<uint32_t>(b)) ^ static_cast<uint32_t>(c);
    data += 3 * kRun;
    size -= 3 * kRun;
  }
  for (; size >= 8; data += 8, size -= 8) a = add_8(a, word_at(data));
  uint32_t rest = static_cast<uint32_t>(a);
  while (size-- > 0) rest = add_1(rest, *data++);
  return rest;
}
#endif

}  // namespace

uint32_t crc32c(const uint8_t* data, size_t size, uint32_t before) {
#if PENSTOCK_CRC32C
  if (has_crc32c()) return ~update_hardware(~before, data, size);
#endif
  return ~update_scalar(~before, data, size);
}

}  // namespace penstock
