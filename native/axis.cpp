#include "axis.hpp"

#include <algorithm>
#include <cmath>

namespace penstock {

void Taps::build(int outputs, double from, double to, Range may_read, bool reversed, bool mirrored, bool nearest) {
  const Crop crop{outputs, from, to, may_read, reversed, mirrored, nearest};
  if (generation_ && crop == crop_) return;
  crop_ = crop;
  ++generation_;
  const double scale = (to - from) / outputs;
  const double reach = std::max(scale, 1.0);
  stride = nearest ? 1 : static_cast<int>(std::ceil(reach)) * 2 + 1;
  start.resize(outputs);
  count.resize(outputs);
  weight.resize(static_cast<size_t>(outputs) * stride);
  clip = may_read;
  identity = !reversed;
  cut = true;
  const float slope = static_cast<float>(1.0 / reach);
  for (int i = 0; i < outputs; ++i) {
    const int at = reversed ? outputs - 1 - i : i;
    const double centre = from + (i + 0.5) * scale;
    float* w = &weight[static_cast<size_t>(at) * stride];
    const bool inside = mirrored ? centre > clip.start && centre <= clip.stop : centre >= clip.start && centre < clip.stop;
    if (!inside) {
      start[at] = 0;
      count[at] = 0;
      identity = false;
      continue;
    }
    int first, last;
    if (nearest) {
      first = mirrored ? static_cast<int>(std::ceil(centre)) - 1 : static_cast<int>(centre);
      last = first + 1;
      w[0] = 1.0f;
    } else {
      first = std::max(static_cast<int>(std::max(centre - reach + 0.5, 0.0)), clip.start);
      last = std::min(static_cast<int>(centre + reach + 0.5), clip.stop);
      const int n = last - first;
      const float offset = static_cast<float>(first - centre + 0.5);
      float sum = 0;
      for (int k = 0; k < n; ++k) {
        const float value = std::max(0.0f, 1.0f - std::fabs((offset + static_cast<float>(k)) * slope));
        w[k] = value;
        sum += value;
      }
      while (last - first > 1 && w[last - first - 1] == 0.0f) --last;
      int leading = 0;
      while (leading < last - first - 1 && w[leading] == 0.0f) ++leading;
      const float norm = 1.0f / sum;
      first += leading;
      for (int k = 0; k < last - first; ++k) w[k] = w[k + leading] * norm;
    }
    start[at] = first;
    count[at] = last - first;
    if (last - first != 1) cut = false;
    if (last - first != 1 || (at > 0 && first != start[at - 1] + 1)) identity = false;
  }
}

Range Taps::used() const {
  Range range{INT32_MAX, 0};
  for (size_t i = 0; i < start.size(); ++i) {
    if (count[i] == 0) continue;
    range.start = std::min(range.start, start[i]);
    range.stop = std::max(range.stop, start[i] + count[i]);
  }
  return range.stop > range.start ? range : Range{0, 0};
}

namespace {

// Adds a full-size pixel's weight to the decoded samples that make it; `base` is the first sample of `sums`.
inline void spread(const Grid& grid, int shift, int last_stored, int pixel, float weight, int base, float* sums) {
  if (!grid.smooth) {
    sums[(pixel >> shift) - base] += weight;
    return;
  }
  const int near = pixel >> 1;
  const int far = std::clamp((pixel & 1) ? near + 1 : near - 1, 0, last_stored);
  const int reduce = shift - 1;
  sums[(near >> reduce) - base] += weight * 0.75f;
  sums[(far >> reduce) - base] += weight * 0.25f;
}

inline int log2_of(int power) { return __builtin_ctz(static_cast<unsigned>(power)); }

}  // namespace

void Axis::build(const Taps& taps, const Grid& grid) {
  if (generation_ == taps.generation() && grid_ == grid) return;
  generation_ = taps.generation();
  grid_ = grid;
  const int outputs_wanted = static_cast<int>(taps.start.size());
  const int factor = grid.subsampling * grid.reduction;
  const int shift = log2_of(factor);
  const int last_stored = grid.samples - 1;
  const int margin = grid.smooth ? 1 : 0;
  start.resize(outputs_wanted);
  pairs.resize(outputs_wanted);
  // A run of n pixels touches at most this many samples; two more where it is smoothed, and an even number.
  stride = (((taps.stride + factor - 2) >> shift) + 2 + 2 * margin + 1) & ~1;
  weight.assign(static_cast<size_t>(outputs_wanted) * stride, 0);
  identity = taps.identity && factor == 1;
  // A mean over some pixels beyond the clip is not used: the nearest one that lies inside takes its place.
  Range inside{0, INT32_MAX};
  if (grid.reduction > 1 && taps.clip.stop / factor > (taps.clip.start + factor - 1) / factor)
    inside = {(taps.clip.start + factor - 1) / factor, taps.clip.stop / factor};
  range = {INT32_MAX, 0};
  float sums[64];
  std::vector<float> many;  // only for reductions by more than about 30
  float* sum = sums;
  if (stride > 64) {
    many.resize(stride);
    sum = many.data();
  }
  for (int i = 0; i < outputs_wanted; ++i) {
    const int n = taps.count[i];
    if (n == 0) {
      start[i] = 0;
      pairs[i] = 0;
      continue;
    }
    const float* w = &taps.weight[static_cast<size_t>(i) * taps.stride];
    const int first = taps.start[i], last = first + n - 1;
    int low, high;
    if (factor == 1) {
      low = first;
      high = last;
      sum = const_cast<float*>(w);
    } else {
      low = first >> shift;
      high = last >> shift;
      if (margin) {
        const int stored_low = std::max((first >> 1) - ((first & 1) ? 0 : 1), 0);
        const int stored_high = std::min((last >> 1) + ((last & 1) ? 1 : 0), last_stored);
        low = stored_low >> (shift - 1);
        high = stored_high >> (shift - 1);
      }
      std::fill(sum, sum + (high - low + 1), 0.0f);
      for (int k = 0; k < n; ++k) spread(grid, shift, last_stored, first + k, w[k], low, sum);
      while (low < inside.start && low < high) {
        sum[1] += sum[0];
        std::copy(sum + 1, sum + (high - low + 1), sum);
        ++low;
      }
      for (; high >= inside.stop && high > low; --high) sum[high - low - 1] += sum[high - low];
    }
    const int taps_here = high - low + 1;
    int16_t* out = &weight[static_cast<size_t>(i) * stride];
    // What rounding takes from one tap it gives to the next, so that all add up to one and none is negative.
    float so_far = 0;
    int given = 0;
    for (int k = 0; k < taps_here; ++k) {
      so_far += sum[k];
      const int upto = k == taps_here - 1 ? 1 << kBits : std::min(static_cast<int>(so_far * (1 << kBits) + 0.5f), 1 << kBits);
      out[k] = static_cast<int16_t>(upto - given);
      given = upto;
    }
    start[i] = low;
    pairs[i] = (taps_here + 1) >> 1;
    range.start = std::min(range.start, low);
    range.stop = std::max(range.stop, high + 1);
  }
  if (range.stop <= range.start) range = {0, 0};
}

}  // namespace penstock
