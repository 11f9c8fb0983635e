// Several stretches of entropy-coded data decoded in turn, in one loop.
//
// Each symbol's length is known only when it is decoded, so one stretch is a chain of look-ups, each waiting for the last,
// and the processor idles most of the time. Stretches between restart markers do not depend on each other: taking one
// step of each in turn fills the gaps. A lane works on its own block; what happens between blocks is the owner's business.
#pragma once

#include <cstdint>

#include "huffman.hpp"
#include "simd.hpp"

namespace penstock {

struct Lane {
  BitReader in;
  // The block under way. `k` is the last coefficient written, in zigzag order.
  int k = 0;
  int16_t* block = nullptr;             // zeroed, row-major
  const uint16_t* quantizer = nullptr;  // in zigzag order
  const HuffmanTable* ac = nullptr;
};

namespace lane {

struct Hot {  // what every step needs, in registers
  uint64_t bits;
  int64_t count;
  const uint8_t* next;
  int64_t k;
  int16_t* block;
  const uint16_t* quantizer;
  const HuffmanTable::Entry* look;
};

[[gnu::always_inline]] inline Hot load(const Lane& from) {
  return {from.in.bits, from.in.count, from.in.next, from.k, from.block, from.quantizer, from.ac->look.data()};
}

[[gnu::always_inline]] inline void store(const Hot& h, Lane& lane) {
  lane.in.bits = h.bits;
  lane.in.count = static_cast<int>(h.count);
  lane.in.next = h.next;
  lane.k = static_cast<int>(h.k);
}

enum class Step { kOn, kBlockDone, kDamaged };

// One symbol. The caller has refilled.
[[gnu::always_inline]] inline Step symbol(Hot& h, Lane& lane) {
  const HuffmanTable::Entry entry = h.look[h.bits >> (64 - kLookBits)];
  int value = entry.value;
  if (entry.bits) [[likely]] {
    h.bits <<= entry.bits;
    h.count -= entry.bits;
    h.k += entry.run + 1;
  } else {
    store(h, lane);
    const Symbol slow = read_ac_slowly(lane.in, *lane.ac, entry);
    if (slow.run < 0) return Step::kDamaged;
    h = load(lane);
    h.k += slow.run + 1;
    value = slow.value;
  }
  if (h.k < 63) [[likely]] {
    h.block[kNaturalOrder[h.k]] = static_cast<int16_t>(value * h.quantizer[h.k]);
    return Step::kOn;
  }
  if (h.k == 63)
    h.block[63] = static_cast<int16_t>(value * h.quantizer[63]);
  else if (h.k <= HuffmanTable::kEndOfBlock)
    return Step::kDamaged;
  store(h, lane);
  return lane.in.overrun() ? Step::kDamaged : Step::kBlockDone;
}

// Two symbols: with their values they take 52 bits at the most, so one refill serves both.
[[gnu::always_inline]] inline Step two_symbols(Hot& h, Lane& lane) {
  uint64_t word;
  std::memcpy(&word, h.next, 8);
  h.bits |= __builtin_bswap64(word) >> h.count;
  h.next += (63 - h.count) >> 3;
  h.count |= 56;
  const Step first = symbol(h, lane);
  return first == Step::kOn ? symbol(h, lane) : first;
}

}  // namespace lane

// Decodes AC coefficients, multiplied by their quantisers. Each lane has its block and DC set up. When lane i's block is
// complete, `between(i)` is called, which sets up the next; it returns false when there is none, which ends the loop.
// Returns the lane that had no next block, or -1 for damaged data.
//
// Lanes are named, not indexed: an array of them would live in memory.
template <int kLanes, typename Between>
[[gnu::always_inline]] inline int run_lanes(Lane* const* lanes, Between& between) {
  using lane::Hot, lane::Step, lane::load, lane::store;
  Hot a = load(*lanes[0]), b = load(*lanes[kLanes > 1 ? 1 : 0]), c = load(*lanes[kLanes > 2 ? 2 : 0]);
  // Advances one lane; false when the loop has to end, with `result` set.
  int result = -1;
  const auto advance = [&](Hot& h, int i) __attribute__((always_inline)) {
    const Step step = lane::two_symbols(h, *lanes[i]);
    if (step == Step::kOn) [[likely]] return true;
    if (step == Step::kDamaged) return false;
    if (!between(i)) {
      result = i;
      return false;
    }
    h = load(*lanes[i]);
    return true;
  };
  while (true) {
    if (!advance(a, 0)) break;
    if constexpr (kLanes > 1)
      if (!advance(b, 1)) break;
    if constexpr (kLanes > 2)
      if (!advance(c, 2)) break;
  }
  if (result != 0) store(a, *lanes[0]);
  if (kLanes > 1 && result != 1) store(b, *lanes[1]);
  if (kLanes > 2 && result != 2) store(c, *lanes[2]);
  return result;
}

}  // namespace penstock
