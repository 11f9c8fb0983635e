#include "resample.hpp"

#include <algorithm>
#include <cstring>

#include "simd.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace penstock {

namespace {

constexpr int kRound = 1 << (Axis::kBits - 1);

// One output row: the sum of `pairs` pairs of rows, weighted.
void mix_row_scalar(const uint8_t* const* rows, const int16_t* weights, int pairs, int width, uint8_t* out) {
  for (int x = 0; x < width; ++x) {
    int sum = kRound;
    for (int k = 0; k < 2 * pairs; ++k) sum += weights[k] * rows[k][x];
    out[x] = static_cast<uint8_t>(sum >> Axis::kBits);
  }
}

#if PENSTOCK_X86
// 32 columns at a time; may write up to 31 bytes past `width`.
template <int kPairs>
PENSTOCK_AVX2 void mix_row_avx2(const uint8_t* const* rows, const int16_t* weights, int pairs, int width, uint8_t* out) {
  const int n = kPairs > 0 ? kPairs : pairs;
  const __m256i zero = _mm256_setzero_si256(), round = _mm256_set1_epi32(kRound);
  for (int x = 0; x < width; x += 32) {
    __m256i s0 = round, s1 = round, s2 = round, s3 = round;
    for (int k = 0; k < n; ++k) {
      int32_t both;
      std::memcpy(&both, weights + 2 * k, 4);
      const __m256i w = _mm256_set1_epi32(both);
      const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows[2 * k] + x));
      const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows[2 * k + 1] + x));
      const __m256i low = _mm256_unpacklo_epi8(a, b), high = _mm256_unpackhi_epi8(a, b);
      s0 = _mm256_add_epi32(s0, _mm256_madd_epi16(_mm256_unpacklo_epi8(low, zero), w));
      s1 = _mm256_add_epi32(s1, _mm256_madd_epi16(_mm256_unpackhi_epi8(low, zero), w));
      s2 = _mm256_add_epi32(s2, _mm256_madd_epi16(_mm256_unpacklo_epi8(high, zero), w));
      s3 = _mm256_add_epi32(s3, _mm256_madd_epi16(_mm256_unpackhi_epi8(high, zero), w));
    }
    s0 = _mm256_srai_epi32(s0, Axis::kBits);
    s1 = _mm256_srai_epi32(s1, Axis::kBits);
    s2 = _mm256_srai_epi32(s2, Axis::kBits);
    s3 = _mm256_srai_epi32(s3, Axis::kBits);
    const __m256i bytes = _mm256_packus_epi16(_mm256_packs_epi32(s0, s1), _mm256_packs_epi32(s2, s3));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + x), bytes);
  }
}
#endif

using MixRow = void (*)(const uint8_t* const*, const int16_t*, int, int, uint8_t*);

MixRow mixer_for([[maybe_unused]] int pairs) {
#if PENSTOCK_X86
  if (has_avx2()) {
    switch (pairs) {
      case 1: return mix_row_avx2<1>;
      case 2: return mix_row_avx2<2>;
      case 3: return mix_row_avx2<3>;
      case 4: return mix_row_avx2<4>;
      default: return mix_row_avx2<0>;
    }
  }
#endif
  return mix_row_scalar;
}

// One row per output pixel of `axis`; `source` is the row at rows_there.start. `out` must have room for 31 bytes past
// each row, or there must be a spare row, `spill`, to mix into first.
void mix_rows(const uint8_t* source, size_t stride, Range rows_there, int width, const Axis& axis, uint8_t fill,
              uint8_t* out, size_t out_stride, uint8_t* spill) {
  const uint8_t* rows[64];
  std::vector<const uint8_t*> many;
  const uint8_t** row = rows;
  if (axis.stride > 64) {
    many.resize(axis.stride);
    row = many.data();
  }
  for (int i = 0; i < axis.outputs(); ++i, out += out_stride) {
    const int pairs = axis.pairs[i];
    if (pairs == 0) {
      std::memset(out, fill, width);
      continue;
    }
    for (int k = 0; k < 2 * pairs; ++k) {
      const int y = std::min(axis.start[i] + k, rows_there.stop - 1);  // the last of an odd number of taps weighs nothing
      row[k] = source + static_cast<size_t>(y - rows_there.start) * stride;
    }
    const int16_t* weights = &axis.weight[static_cast<size_t>(i) * axis.stride];
    if (spill == nullptr) {
      mixer_for(pairs)(row, weights, pairs, width, out);
    } else {
      mixer_for(pairs)(row, weights, pairs, width, spill);
      std::memcpy(out, spill, width);
    }
  }
}

#if defined(__SSE2__)
// 16 × 16 bytes, by four rounds of interleaving.
inline void transpose_16(const uint8_t* source, size_t source_stride, uint8_t* out, size_t out_stride) {
  __m128i a[16], b[16];
  for (int i = 0; i < 16; ++i) a[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i * source_stride));
  for (int i = 0; i < 8; ++i) {
    b[2 * i] = _mm_unpacklo_epi8(a[i], a[i + 8]);
    b[2 * i + 1] = _mm_unpackhi_epi8(a[i], a[i + 8]);
  }
  for (int i = 0; i < 8; ++i) {
    a[2 * i] = _mm_unpacklo_epi8(b[i], b[i + 8]);
    a[2 * i + 1] = _mm_unpackhi_epi8(b[i], b[i + 8]);
  }
  for (int i = 0; i < 8; ++i) {
    b[2 * i] = _mm_unpacklo_epi8(a[i], a[i + 8]);
    b[2 * i + 1] = _mm_unpackhi_epi8(a[i], a[i + 8]);
  }
  for (int i = 0; i < 8; ++i) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + (2 * i) * out_stride), _mm_unpacklo_epi8(b[i], b[i + 8]));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + (2 * i + 1) * out_stride), _mm_unpackhi_epi8(b[i], b[i + 8]));
  }
}
#endif

}  // namespace

void transpose(const uint8_t* source, size_t source_stride, int width, int height, uint8_t* out, size_t out_stride) {
  int x = 0, y = 0;
#if defined(__SSE2__)
  const int whole_height = height & ~15, whole_width = width & ~15;
  for (y = 0; y < whole_height; y += 16)
    for (x = 0; x < whole_width; x += 16)
      transpose_16(source + y * source_stride + x, source_stride, out + x * out_stride + y, out_stride);
  for (y = 0; y < whole_height; ++y)
    for (x = whole_width; x < width; ++x) out[x * out_stride + y] = source[y * source_stride + x];
#endif
  for (; y < height; ++y)
    for (x = 0; x < width; ++x) out[x * out_stride + y] = source[y * source_stride + x];
}

void resample(const Plane& plane, const Axis& across, const Axis& down, bool transposed, uint8_t fill, uint8_t* out,
              size_t out_stride, ResampleScratch& scratch) {
  const auto padded = [](int n) { return (static_cast<size_t>(n) + 31) / 32 * 32 + Plane::kSlack; };
  const Range& along = transposed ? plane.y : plane.x;  // the plane's axis that `across` weighs
  const Range& other = transposed ? plane.x : plane.y;
  if (!transposed && across.identity && down.identity) {
    for (int y = 0; y < down.outputs(); ++y) std::memcpy(out + y * out_stride, plane.at(across.start[0], down.start[0] + y), across.outputs());
    return;
  }
  // Rows are to be what `across` weighs.
  const uint8_t* lines = plane.data;
  size_t lines_stride = plane.stride;
  if (!transposed) {
    lines_stride = padded(other.size());
    uint8_t* turned = scratch.turned.take(lines_stride * along.size());
    transpose(plane.data, plane.stride, along.size(), other.size(), turned, lines_stride);
    lines = turned;
  }
  if (!across.identity) {
    const size_t mixed_stride = padded(other.size());
    uint8_t* mixed = scratch.mixed.take(mixed_stride * across.outputs());
    mix_rows(lines, lines_stride, along, other.size(), across, fill, mixed, mixed_stride, nullptr);
    lines = mixed;
    lines_stride = mixed_stride;
  } else {
    lines += static_cast<size_t>(across.start[0] - along.start) * lines_stride;
  }
  const size_t back_stride = padded(across.outputs());
  uint8_t* back = scratch.back.take(back_stride * other.size() + back_stride);
  transpose(lines, lines_stride, other.size(), across.outputs(), back, back_stride);
  // Whole vectors are written: rows that do not end with one go by way of a spare row.
  uint8_t* spill = across.outputs() % 32 == 0 ? nullptr : back + back_stride * other.size();
  mix_rows(back, back_stride, other, across.outputs(), down, fill, out, out_stride, spill);
}

}  // namespace penstock
