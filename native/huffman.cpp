#include "huffman.hpp"

#include <algorithm>

namespace penstock {

const uint8_t kNaturalOrder[64 + 16] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13,
    6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31,
    39, 46, 53, 60, 61, 54, 47, 55, 62, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63};

namespace {

// The value that `size` bits stand for: the lower half of the range is negative.
inline int extend(uint32_t bits, int size) {
  return static_cast<int>(bits) - (bits < (1u << (size - 1)) ? (1 << size) - 1 : 0);
}

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

// The difference to the last DC value; false if there is no such code. Needs 32 bits.
inline bool read_dc(BitReader& in, const HuffmanTable& table, int& last_dc) {
  const auto& entry = table.look[in.peek(kLookBits)];
  if (entry.bits) {
    last_dc += entry.value;
    in.drop(entry.bits);
    return true;
  }
  const int size = slow_symbol(in, table, entry);
  if (size < 0 || size > 15) return false;
  if (size) {
    last_dc += extend(in.peek(size), size);
    in.drop(size);
  }
  return true;
}

struct Step {
  int run, value;
};

// The next AC symbol, by the slow way. run == kEndOfBlock ends the block; -1 means damage.
[[gnu::noinline]] Step slow_ac(BitReader& in, const HuffmanTable& table, const HuffmanTable::Entry& entry) {
  const int symbol = slow_symbol(in, table, entry);
  if (symbol < 0) return {-1, 0};
  const int run = symbol >> 4, size = symbol & 15;
  if (size == 0) return {run == 15 ? 15 : HuffmanTable::kEndOfBlock, 0};
  const int value = extend(in.peek(size), size);
  in.drop(size);
  return {run, value};
}

}  // namespace

bool HuffmanTable::build(const JpegHeader::HuffmanSpec& spec, bool is_dc) {
  if (!spec.present) return false;
  symbols = spec.symbols;
  look.fill({0, 0, 0});
  int code = 0, position = 0;
  for (int length = 1; length <= 16; ++length, code <<= 1) {
    const int count = spec.counts[length - 1];
    offset[length] = position - code;
    for (int i = 0; i < count; ++i, ++code, ++position) {
      const int symbol = symbols[position];
      if (is_dc && symbol > 15) return false;
      if (length > kLookBits) continue;
      const int size = is_dc ? symbol : symbol & 15;
      const int room = kLookBits - length;
      Entry* at = &look[static_cast<size_t>(code) << room];
      if (code >= 1 << length) return false;
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
    if (code > 1 << length) return false;  // more codes than there is room for
    max_code[length] = count ? code - 1 : -1;
  }
  max_code[17] = INT32_MAX;
  return true;
}

int decode_block(BitReader& in, const HuffmanTable& dc, const HuffmanTable& ac, const uint16_t* quantizer, int& last_dc, int16_t* block) {
  in.refill();
  if (!read_dc(in, dc, last_dc)) return -1;
  block[0] = static_cast<int16_t>(last_dc * quantizer[0]);
  int k = 0, last = 0;
  // A symbol and its value take 26 bits at the most, so one refill serves two.
  const auto step = [&]() __attribute__((always_inline)) {
    const auto entry = ac.look[in.peek(kLookBits)];
    int value;
    if (entry.bits) [[likely]] {
      k += entry.run + 1;
      value = entry.value;
      in.drop(entry.bits);
    } else {
      const Step slow = slow_ac(in, ac, entry);
      if (slow.run < 0) return -1;
      k += slow.run + 1;
      value = slow.value;
    }
    if (k > 63) return k > HuffmanTable::kEndOfBlock ? 1 : -1;
    block[kNaturalOrder[k]] = static_cast<int16_t>(value * quantizer[k]);
    last = k;
    return k == 63 ? 1 : 0;
  };
  int state;
  do {
    in.refill();
    state = step();
    if (state != 0) break;
    state = step();
  } while (state == 0);
  return state < 0 || in.overrun() ? -1 : last;
}

bool skip_block(BitReader& in, const HuffmanTable& dc, const HuffmanTable& ac, int& last_dc) {
  in.refill();
  if (!read_dc(in, dc, last_dc)) return false;
  int k = 0;
  while (k < 63) {
    in.refill();
    const auto entry = ac.look[in.peek(kLookBits)];
    if (entry.bits) [[likely]] {
      k += entry.run + 1;
      in.drop(entry.bits);
    } else {
      const Step slow = slow_ac(in, ac, entry);
      if (slow.run < 0) return false;
      k += slow.run + 1;
    }
  }
  return (k == 63 || k > HuffmanTable::kEndOfBlock) && !in.overrun();
}

}  // namespace penstock
