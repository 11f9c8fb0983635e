// Moves a plane of 8-bit samples onto the output grid: weighted sums along one axis, then along the other.
//
// Both passes add up whole rows, which vectors do best whatever the scale: the plane is transposed, its rows (once
// columns) are mixed, and it is transposed back and mixed again. The order, x before y with rounding to 8 bits in
// between, is Pillow's, so that results agree to the last rounding of the weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "axis.hpp"

namespace penstock {

// Samples of one component; `data` points at sample (x.start, y.start). Rows may be read up to kSlack bytes past their end.
struct Plane {
  static constexpr int kSlack = 64;
  const uint8_t* data;
  size_t stride;
  Range x, y;
  const uint8_t* at(int column, int row) const { return data + static_cast<size_t>(row - y.start) * stride + (column - x.start); }
};

// Memory that grows to what images need and is then used again. What one huge image took is let go with the next.
class Buffer {
 public:
  uint8_t* take(size_t bytes) {
    const bool is_left_over = memory_.size() > kMostKept + kMostKept / 4 && bytes <= kMostKept;
    if (is_left_over) std::vector<uint8_t>().swap(memory_);
    if (bytes > memory_.size()) memory_.resize(bytes + bytes / 4);
    return memory_.data();
  }

 private:
  static constexpr size_t kMostKept = 32 << 20;
  std::vector<uint8_t> memory_;
};

struct ResampleScratch {
  Buffer turned, mixed, back;
};

// Writes across.outputs() × down.outputs() samples. `across` weighs the plane's x (its y where `transposed`), `down` the other.
void resample(const Plane& plane, const Axis& across, const Axis& down, bool transposed, uint8_t fill, uint8_t* out,
              size_t out_stride, ResampleScratch& scratch);

void transpose(const uint8_t* source, size_t source_stride, int width, int height, uint8_t* out, size_t out_stride);

}  // namespace penstock
