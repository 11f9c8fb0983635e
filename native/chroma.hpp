// Chroma at full size, for images whose colours must be converted before they are resampled.
//
// Resampling YCbCr and converting afterwards gives the same as the other way round, and is cheaper, except that conversion
// cuts off what lies outside 0 … 255. Where many pixels do (burnt-out skies, shadows with noise) the difference shows.
#pragma once

#include <cstdint>

#include "axis.hpp"
#include "resample.hpp"

namespace penstock {

// How far colours lie outside 0 … 255, in levels per pixel and channel, from a sample of the pixels.
double overshoot(const Plane planes[3], int factor_x, int factor_y);

// One row of chroma at full size, rounded as libjpeg does.
class ChromaRow {
 public:
  // Row `y` from pixel `first` to the end of the plane. What is returned stays until the next call.
  const uint8_t* enlarge(const Plane& plane, const Grid& across, const Grid& down, int y, int first);

 private:
  Buffer sums_, pixels_;
};

}  // namespace penstock
