// Weights along one axis: which source samples make up each output pixel, and how much of each.
//
// The filter is the triangle that Pillow and torchvision call antialiased bilinear. `Taps` are its weights over
// full-size pixels. A plane may hold fewer samples than pixels, because JPEG stores chroma at half size and because an
// inverse DCT can be asked for a half, a quarter or an eighth. `Grid` says how its samples make pixels, and since both
// steps are linear, their product (`Axis`) takes stored samples to output pixels at once: the same result as enlarging
// chroma to full size first, without ever doing so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

struct Grid {
  int samples;      // how many are stored along this axis
  int subsampling;  // pixels per sample as stored in the JPEG: 1, 2 or 4
  bool smooth;      // libjpeg's "fancy" upsampling of factor 2: 3/4 of the nearer sample, 1/4 of the farther
  int reduction;    // samples as stored per sample as decoded: 1, 2, 4 or 8 (inverse DCT of reduced size)
  bool operator==(const Grid&) const = default;
};

// Half-open range of positions.
struct Range {
  int start, stop;
  int size() const { return stop - start; }
  bool operator==(const Range&) const = default;
};

// Weights over full-size pixels. Built again for the same crop, as for the next frame of a clip, they stay as they are.
struct Taps {
  std::vector<int32_t> start;  // per output pixel: its first source pixel
  std::vector<int32_t> count;  // per output pixel: how many; 0 for padding
  std::vector<float> weight;   // stride * output pixel + tap
  int stride = 0;
  Range clip{0, 0};       // what may be read
  bool identity = false;  // every output pixel is exactly one source pixel, in rising order without gaps
  bool cut = false;       // every output pixel is exactly one source pixel, or padding

  // `outputs` pixels over [from, to), reading only `may_read`; reversed: the last output first. `mirrored` says that
  // positions count from the other end, which decides to whom a centre between two pixels belongs.
  void build(int outputs, double from, double to, Range may_read, bool reversed, bool mirrored, bool nearest);
  Range used() const;
  uint64_t generation() const { return generation_; }  // another one whenever they have changed

 private:
  struct Crop {
    int outputs = 0;
    double from = 0, to = 0;
    Range may_read{0, 0};
    bool reversed = false, mirrored = false, nearest = false;
    bool operator==(const Crop&) const = default;
  };
  Crop crop_;
  uint64_t generation_ = 0;
};

// Weights over a plane's samples, in 1/16384, summing to exactly that for each output pixel.
struct Axis {
  static constexpr int kBits = 14;

  std::vector<int32_t> start;
  std::vector<int32_t> pairs;    // per output pixel: pairs of taps; 0 for padding
  std::vector<int16_t> weight;   // stride * output pixel + tap, an even number of taps, zero at the end if need be
  int stride = 0;
  bool identity = false;
  Range range{0, 0};  // the samples that any output pixel reads

  // The same `taps` each time: then the same weights over the same grid are not worked out again.
  void build(const Taps& taps, const Grid& grid);
  int outputs() const { return static_cast<int>(start.size()); }

 private:
  uint64_t generation_ = 0;  // of the taps, and their grid
  Grid grid_{0, 0, false, 0};
};

}  // namespace penstock
