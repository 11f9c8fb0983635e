// What a sample shows: which part of the source, mapped how, onto how many output pixels.
//
// The output grid lies over `region` (in source pixels, fractions allowed); source pixels outside `clip` are never
// read, as if the image had been cropped to it before. Cropping and then resizing has clip == region; resizing and then
// cropping has the whole image as clip. An output pixel whose centre lies outside the clip is padding and gets `fill`.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

struct Region {
  double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

struct Clip {
  int32_t x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

// The eight ways to turn a rectangle, as EXIF numbers them: stored pixels are transposed first, then mirrored.
struct Turn {
  bool transposed = false, mirrored_x = false, mirrored_y = false;

  static Turn from_exif(int orientation) {
    switch (orientation) {
      case 2: return {false, true, false};
      case 3: return {false, true, true};
      case 4: return {false, false, true};
      case 5: return {true, false, false};
      case 6: return {true, true, false};
      case 7: return {true, true, true};
      case 8: return {true, false, true};
      default: return {};
    }
  }
};

struct View {
  Region region;  // in turned coordinates
  Clip clip;      // likewise
  Turn turn;
  bool flip = false;  // mirror the output left to right, after the turn
};

struct OutputShape {
  int channels, height, width;
  bool channels_first;
  bool nearest;
  uint8_t fill;
  size_t plane_stride;  // channels first: bytes from one channel to the next. Other frames of a clip may lie between them
  size_t pixels() const { return static_cast<size_t>(height) * width; }
};

}  // namespace penstock
