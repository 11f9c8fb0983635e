// Entropy decoding of baseline JPEG: bits to quantised coefficients.
//
// A symbol says how many zero coefficients to skip and how many bits the next value has; the value follows. Most codes
// and their values fit into kLookBits together, so one table look-up gives run, value and length at once. The rest take
// a slower way. Bits come from a buffer whose stuffing (00 after FF) is already removed, so refilling is one load.
//
// Nothing here decides what a damaged file means: anything that libjpeg-turbo would not take without a word makes the
// caller hand the whole image to it.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "jpeg_header.hpp"

namespace penstock {

static_assert(std::endian::native == std::endian::little, "bits are read as little-endian words");

constexpr int kLookBits = 11;

struct HuffmanTable {
  // Code and value known from kLookBits bits: `bits` is the length of both, `run` the zeros before the value.
  // Only the code known: bits == 0, `run` holds the symbol, `value` the code's length. A longer code: value == 0 too.
  struct Entry {
    int16_t value;
    uint8_t run;
    uint8_t bits;
  };
  static constexpr uint8_t kEndOfBlock = 128;  // as a run: past any coefficient

  std::array<Entry, 1 << kLookBits> look;
  std::array<int32_t, 18> max_code;   // largest code of each length, -1 if none; [17] stops every search
  std::array<int32_t, 17> offset;     // symbol position minus code
  std::array<uint8_t, 256> symbols;

  // False if no code has these counts, or values are larger than 8-bit images have. DC tables hold sizes, AC tables run
  // and size. Many files have the same tables, those of the standard: then the table stays as it is.
  bool build(const JpegHeader::HuffmanSpec& spec, bool is_dc);

 private:
  JpegHeader::HuffmanSpec spec_;  // what it was built from, if that went well
  bool is_dc_ = false;
};

// A run of bits, most significant first. Memory must be readable for 8 bytes past `stop` and hold zeros for kSlack.
struct BitReader {
  static constexpr size_t kSlack = 256;  // a damaged block eats 208 bytes at the most before somebody looks

  uint64_t bits = 0;
  int count = 0;
  const uint8_t* next = nullptr;
  const uint8_t* start = nullptr;
  const uint8_t* stop = nullptr;

  void open(const uint8_t* from, const uint8_t* to) { *this = {0, 0, from, from, to}; }
  // At least 56 bits are there afterwards.
  void refill() {
    uint64_t word;
    std::memcpy(&word, next, 8);
    bits |= __builtin_bswap64(word) >> count;
    next += (63 - count) >> 3;
    count |= 56;
  }
  uint32_t peek(int n) const { return static_cast<uint32_t>(bits >> (64 - n)); }
  void drop(int n) {
    bits <<= n;
    count -= n;
  }
  bool overrun() const { return next > stop + 16; }
  int64_t used() const { return (next - start) * 8 - count; }
  bool within() const { return used() <= (stop - start) * 8; }
  // All bits were there and nothing but the padding of the last byte is left.
  bool ended_well() const { return within() && (stop - start) * 8 - used() < 8; }
};

// Where coefficient k of the zigzag stands in a row-major block.
extern const uint8_t kNaturalOrder[64];

// Adds the next DC difference to `last_dc`. False: no such code. Needs 32 bits.
bool read_dc(BitReader& in, const HuffmanTable& table, int& last_dc);

struct Symbol {
  int run, value;
};

// The next AC symbol where the look-up table does not hold it: `entry` is what it says. run < 0: no such code. Needs 26 bits.
Symbol read_ac_slowly(BitReader& in, const HuffmanTable& table, HuffmanTable::Entry entry);

}  // namespace penstock
