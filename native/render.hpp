// One sample, from stored bytes to its slot of the batch.
#pragma once

#include <optional>
#include <string>

#include "chroma.hpp"
#include "colour.hpp"
#include "geometry.hpp"
#include "jpeg_tiles.hpp"
#include "resample.hpp"
#include "turbo.hpp"

namespace penstock {

enum class Status { kFine = 0, kWarned = 1, kBroken = 2, kUnsupported = 3, kChecksum = 4, kMismatch = 5 };

struct Outcome {
  Status status = Status::kFine;
  std::string message;
};

enum class Kind : uint8_t { kJpeg = 0, kPixels = 1, kAbsent = 255 };

struct Source {
  Kind kind = Kind::kAbsent;
  Bytes bytes;
  int width = 0, height = 0;  // stored; 0 × 0: whatever the header says (JPEG only)
  View view;
  std::optional<uint32_t> checksum;
};

struct Limits {
  int64_t max_pixels;
  bool scaling;
};

// Holds the memory and tables that one thread uses again and again.
class Renderer {
 public:
  // Writes all pixels of the shape to `out`, unless the outcome says that there are none.
  Outcome render(const Source& source, const OutputShape& shape, const Limits& limits, uint8_t* out);

 private:
  Outcome render_jpeg(const Source& source, const OutputShape& shape, const Limits& limits, uint8_t* out);
  Outcome render_pixels(const Source& source, const OutputShape& shape, uint8_t* out);
  Outcome render_turbo(const Source& source, const OutputShape& shape, int reduction, uint8_t* out);
  bool render_tiles(const Source& source, const JpegHeader& header, const OutputShape& shape, int reduction, uint8_t* out);
  void lay_taps(const Source& source, int width, int height, const OutputShape& shape);
  void render_interleaved(const uint8_t* pixels, size_t stride, int channels, Range rows, const Grid& gx, const Grid& gy,
                          const Source& source, const OutputShape& shape, uint8_t* out);
  enum class Model { kGrey, kYcc, kRgb };
  // Colours at full size: turns three planes into planes of red, green and blue over the first one's pixels.
  void convert_planes(Plane planes[3], const Grid& across, const Grid& down);
  // `across` and `down` per plane: [0] for the first, [1] for the others.
  void compose(const Plane planes[3], const Axis* const across[2], const Axis* const down[2], Model model, bool transposed, const OutputShape& shape, uint8_t* out);

  JpegHeader header_;
  TileDecoder tiles_;
  TurboImage turbo_;
  Taps taps_x_, taps_y_;  // along the stored image's axes
  Axis axis_x_[2], axis_y_[2];
  ResampleScratch scratch_;
  Buffer planes_[3], grid_;
  ChromaRow cb_row_, cr_row_;
};

}  // namespace penstock
