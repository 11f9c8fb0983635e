#include "chroma.hpp"

#include <algorithm>
#include <cstring>

#include "simd.hpp"

namespace penstock {

namespace {

// Loops that are written once and compiled twice, for the baseline and for AVX2; the compiler vectorises both.

template <int kStep>
[[gnu::always_inline]] inline int overshoot_loop(const uint8_t* __restrict luma, const uint8_t* __restrict cb, const uint8_t* __restrict cr, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    const int l = luma[i * kStep], u = cb[i] - 128, v = cr[i] - 128;
    const int red = l + (v * 359 >> 8), blue = l + (u * 454 >> 8), green = l - ((u * 88 + v * 183) >> 8);
    sum += std::max(0, -red) + std::max(0, red - 255) + std::max(0, -blue) + std::max(0, blue - 255) + std::max(0, -green) + std::max(0, green - 255);
  }
  return sum;
}

[[gnu::always_inline]] inline void add_rows_loop(const uint8_t* __restrict near, const uint8_t* __restrict far, int count, int16_t* __restrict sums) {
  for (int i = 0; i < count; ++i) sums[i] = static_cast<int16_t>(3 * near[i] + far[i]);
}

[[gnu::always_inline]] inline void smooth_loop(const int16_t* __restrict sums, int count, int even_bias, int odd_bias, int shift, uint8_t* __restrict out) {
  for (int i = 0; i < count; ++i) {
    out[2 * i] = static_cast<uint8_t>((3 * sums[i] + sums[i - 1] + even_bias) >> shift);
    out[2 * i + 1] = static_cast<uint8_t>((3 * sums[i] + sums[i + 1] + odd_bias) >> shift);
  }
}

template <int kStep>
int overshoot_plain(const uint8_t* luma, const uint8_t* cb, const uint8_t* cr, int count) {
  return overshoot_loop<kStep>(luma, cb, cr, count);
}
void add_rows_plain(const uint8_t* near, const uint8_t* far, int count, int16_t* sums) { add_rows_loop(near, far, count, sums); }
void smooth_plain(const int16_t* sums, int count, int even_bias, int odd_bias, int shift, uint8_t* out) {
  smooth_loop(sums, count, even_bias, odd_bias, shift, out);
}

#if PENSTOCK_X86
template <int kStep>
PENSTOCK_AVX2 int overshoot_avx2(const uint8_t* luma, const uint8_t* cb, const uint8_t* cr, int count) {
  return overshoot_loop<kStep>(luma, cb, cr, count);
}
PENSTOCK_AVX2 void add_rows_avx2(const uint8_t* near, const uint8_t* far, int count, int16_t* sums) { add_rows_loop(near, far, count, sums); }
PENSTOCK_AVX2 void smooth_avx2(const int16_t* sums, int count, int even_bias, int odd_bias, int shift, uint8_t* out) {
  smooth_loop(sums, count, even_bias, odd_bias, shift, out);
}
#define PENSTOCK_BEST(name) (has_avx2() ? name##_avx2 : name##_plain)
#else
#define PENSTOCK_BEST(name) name##_plain
#endif

template <int kStep>
int overshoot_row(const uint8_t* luma, const uint8_t* cb, const uint8_t* cr, int count) {
#if PENSTOCK_X86
  if (has_avx2()) return overshoot_avx2<kStep>(luma, cb, cr, count);
#endif
  return overshoot_plain<kStep>(luma, cb, cr, count);
}

// The chroma samples whose first pixel the luma plane holds.
Range covered(Range luma, Range chroma, int factor) {
  return {std::max(chroma.start, (luma.start + factor - 1) / factor), std::min(chroma.stop, (luma.stop - 1) / factor + 1)};
}

}  // namespace

double overshoot(const Plane planes[3], int factor_x, int factor_y) {
  const Range x = covered(planes[0].x, planes[1].x, factor_x), y = covered(planes[0].y, planes[1].y, factor_y);
  if (x.size() <= 0 || y.size() <= 0) return 0;
  const int step = y.size() > 32 ? 2 : 1;
  int64_t sum = 0, count = 0;
  for (int row = y.start; row < y.stop; row += step, count += x.size()) {
    const uint8_t* luma = planes[0].at(x.start * factor_x, row * factor_y);
    const uint8_t *cb = planes[1].at(x.start, row), *cr = planes[2].at(x.start, row);
    sum += factor_x == 1 ? overshoot_row<1>(luma, cb, cr, x.size()) : factor_x == 2 ? overshoot_row<2>(luma, cb, cr, x.size()) : overshoot_row<4>(luma, cb, cr, x.size());
  }
  return static_cast<double>(sum) / static_cast<double>(3 * count);
}

const uint8_t* ChromaRow::enlarge(const Plane& plane, const Grid& across, const Grid& down, int y, int first) {
  const int near_row = y / down.subsampling;
  const uint8_t* near = plane.at(plane.x.start, near_row);
  const int width = plane.x.size();
  if (!down.smooth && across.subsampling == 1) return near + (first - plane.x.start);
  // One sample more on each side: the edge's own value again.
  int16_t* sums = reinterpret_cast<int16_t*>(sums_.take(2 * (static_cast<size_t>(width) + 2 + Plane::kSlack))) + 1;
  if (down.smooth) {
    const int far_row = std::clamp((y & 1) ? near_row + 1 : near_row - 1, 0, down.samples - 1);
    PENSTOCK_BEST(add_rows)(near, plane.at(plane.x.start, far_row), width, sums);
  } else {
    std::copy(near, near + width, sums);
  }
  sums[-1] = sums[0];
  sums[width] = sums[width - 1];
  uint8_t* out = pixels_.take(static_cast<size_t>(width) * across.subsampling + Plane::kSlack);
  if (across.smooth) {
    const int shift = down.smooth ? 4 : 2;
    PENSTOCK_BEST(smooth)(sums, width, down.smooth ? 8 : 1, down.smooth ? 7 : 2, shift, out);
  } else {
    const int bias = (y & 1) ? 2 : 1;
    for (int i = 0; i < width; ++i) {
      const uint8_t value = static_cast<uint8_t>(down.smooth ? (sums[i] + bias) >> 2 : sums[i]);
      for (int k = 0; k < across.subsampling; ++k) out[i * across.subsampling + k] = value;
    }
  }
  return out + (first - plane.x.start * across.subsampling);
}

}  // namespace penstock
