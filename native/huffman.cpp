#include "huffman.hpp"

#include <algorithm>

namespace penstock {

const uint8_t kNaturalOrder[64] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13,
    6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31,
    39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

namespace {

// The value that `size` bits stand for: the lower half of the range is negative.
inline int extend(uint32_t bits, int size) {
  return static_cast<int>(bits) - (bits < (1u << (size - 1)) ? (1 << size) - 1 : 0);
}

// Wraps around, where damaged data adds up to more than there is room for.
inline int add(int a, int b) { return static_cast<int>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b)); }

// A symbol whose code and value the table does not hold together. Returns the symbol, leaving its value's bits to come; -1: no such code.
inline int slow_symbol(BitReader& in, const HuffmanTable& table, const HuffmanTable::Entry& entry) {
  if (entry.value) {
    in.drop(entry.value);
    return entry.run;
  }
  int length = kLookBits + 1;
  while (static_cast<int32_t>(in.peek(length)) > table.max_code[length]) ++length;
  if (length > 16) return -1;
  const int symbol = table.symbols[(in.peek(length) + table.offset[length]) & 255];
  in.drop(length);
  return symbol;
}

}  // namespace

bool HuffmanTable::build(const JpegHeader::HuffmanSpec& spec, bool is_dc) {
  if (!spec.present) return false;
  if (spec == spec_ && is_dc == is_dc_) return true;
  spec_.present = false;
  symbols = spec.symbols;
  look.fill({0, 0, 0});
  int code = 0, position = 0;
  for (int length = 1; length <= 16; ++length, code <<= 1) {
    const int count = spec.counts[length - 1];
    offset[length] = position - code;
    for (int i = 0; i < count; ++i, ++code, ++position) {
      const int symbol = symbols[position];
      if ((is_dc ? symbol : symbol & 15) > (is_dc ? 11 : 10)) return false;  // more than 8-bit samples can need
      if (length > kLookBits) continue;
      const int size = is_dc ? symbol : symbol & 15;
      const int room = kLookBits - length;
      if (code >= 1 << length) return false;
      Entry* at = &look[static_cast<size_t>(code) << room];
      const int run = is_dc ? 0 : symbol >> 4;
      if (size == 0) {
        const uint8_t skip = is_dc || run == 15 ? static_cast<uint8_t>(run) : kEndOfBlock;
        std::fill(at, at + (size_t{1} << room), Entry{0, skip, static_cast<uint8_t>(length)});
      } else if (size <= room) {
        const int each = room - size;
        for (uint32_t bits = 0; bits < 1u << size; ++bits) {
          const Entry entry{static_cast<int16_t>(extend(bits, size)), static_cast<uint8_t>(run), static_cast<uint8_t>(length + size)};
          std::fill(at + (static_cast<size_t>(bits) << each), at + (static_cast<size_t>(bits + 1) << each), entry);
        }
      } else {
        std::fill(at, at + (size_t{1} << room), Entry{static_cast<int16_t>(length), static_cast<uint8_t>(symbol), 0});
      }
    }
    if (count && code >= 1 << length) return false;  // no room for so many codes: all ones is none
    max_code[length] = count ? code - 1 : -1;
  }
  max_code[17] = INT32_MAX;
  spec_ = spec;
  is_dc_ = is_dc;
  return true;
}

bool read_dc(BitReader& in, const HuffmanTable& table, int& last_dc) {
  const auto& entry = table.look[in.peek(kLookBits)];
  if (entry.bits) {
    last_dc = add(last_dc, entry.value);
    in.drop(entry.bits);
    return true;
  }
  const int size = slow_symbol(in, table, entry);
  if (size < 0 || size > 15) return false;
  if (size) {
    last_dc = add(last_dc, extend(in.peek(size), size));
    in.drop(size);
  }
  return true;
}

Symbol read_ac_slowly(BitReader& in, const HuffmanTable& table, HuffmanTable::Entry entry) {
  const int symbol = slow_symbol(in, table, entry);
  if (symbol < 0) return {-1, 0};
  const int run = symbol >> 4, size = symbol & 15;
  if (size == 0) return {run == 15 ? 15 : HuffmanTable::kEndOfBlock, 0};
  const int value = extend(in.peek(size), size);
  in.drop(size);
  return {run, value};
}

}  // namespace penstock
