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
#include <cstdint>
#include <cstring>

#include "jpeg_header.hpp"

namespace penstock {

constexpr int kLookBits = 10;

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

  // False if no valid code has these counts. DC tables hold sizes, AC tables run and size.
  bool build(const JpegHeader::HuffmanSpec& spec, bool is_dc);
};

// A run of bits, most significant first. Memory must be readable for 8 bytes past `stop` and hold zeros for kSlack.
class BitReader {
 public:
  static constexpr size_t kSlack = 256;  // a damaged block eats 208 bytes at the most before somebody looks

  BitReader(const uint8_t* start, const uint8_t* stop) : next_(start), start_(start), stop_(stop) {}

  // At least 56 bits are there afterwards.
  void refill() {
    uint64_t word;
    std::memcpy(&word, next_, 8);
    bits_ |= __builtin_bswap64(word) >> count_;
    next_ += (63 - count_) >> 3;
    count_ |= 56;
  }
  uint32_t peek(int n) const { return static_cast<uint32_t>(bits_ >> (64 - n)); }
  void drop(int n) {
    bits_ <<= n;
    count_ -= n;
  }
  bool overrun() const { return next_ > stop_ + 16; }
  // All bits were there and nothing but the padding of the last byte is left.
  bool ended_well() const {
    const int64_t used = (next_ - start_) * 8 - count_, all = (stop_ - start_) * 8;
    return used <= all && all - used < 8;
  }
  bool within() const { return (next_ - start_) * 8 - count_ <= (stop_ - start_) * 8; }

 private:
  uint64_t bits_ = 0;
  int count_ = 0;
  const uint8_t* next_;
  const uint8_t* start_;
  const uint8_t* stop_;
};

// Where coefficient k of the zigzag stands in a row-major block; runs past the end of a block land on 63.
extern const uint8_t kNaturalOrder[64 + 16];

// Decodes one block into `block` (zeroed, row-major, values multiplied by `quantizer`, which is in zigzag order).
// Returns the position of the last coefficient in zigzag order, 0 if only DC is there; -1 if the data is damaged.
int decode_block(BitReader& in, const HuffmanTable& dc, const HuffmanTable& ac, const uint16_t* quantizer, int& last_dc, int16_t* block);

// The same, for its length and its DC only.
bool skip_block(BitReader& in, const HuffmanTable& dc, const HuffmanTable& ac, int& last_dc);

}  // namespace penstock
