// Decodes the part of a JPEG that a crop needs, to planes.
//
// A restart marker is a point where entropy decoding can start. Markers are found by scanning for FF D0 … FF D7, and only
// the stretches between them ("tiles") that hold wanted MCUs are decoded. Without markers everything up to the last
// wanted MCU must be read, but only wanted blocks are transformed.
//
// Takes what baseline encoders write: 8 bits, Huffman, one scan, luma at up to 4 × 2 times the chroma. Everything else,
// and every file in which something is not as it should be, is refused, and libjpeg-turbo decides what it means.
#pragma once

#include <vector>

#include "axis.hpp"
#include "huffman.hpp"
#include "jpeg_header.hpp"
#include "resample.hpp"

namespace penstock {

class TileDecoder {
 public:
  // Whether `header` is of the kind described above.
  static bool takes(const JpegHeader& header);

  // How component c lies over the image when decoded at 1/reduction.
  static int component_reduction(const JpegHeader& header, int c, int reduction);
  static Grid grid_x(const JpegHeader& header, int c, int reduction);
  static Grid grid_y(const JpegHeader& header, int c, int reduction);

  // Decodes the samples [x[c], y[c]) of every component. False: the data is damaged or unusual.
  bool decode(Bytes data, const JpegHeader& header, int reduction, const Range x[3], const Range y[3], Plane planes[3]);

 private:
  struct Part {  // one component's share of an MCU and of the output
    int blocks_x, blocks_y;  // blocks per MCU
    int size;                // samples per block, each way
    const HuffmanTable *dc, *ac;
    const uint16_t* quantizer;
    uint8_t* samples;
    size_t stride;
    int reduction;
  };
  struct Window {  // wanted MCUs
    int row_start, row_stop, column_start, column_stop;
  };

  bool prepare(const JpegHeader& header, int reduction, const Range x[3], const Range y[3], Plane planes[3]);
  bool find_tiles(Bytes scan, int interval, int last_tile);
  bool decode_tile(Bytes tile, int first_mcu, int stop_mcu, bool whole);
  bool decode_mcu(BitReader& in, int row, int column);
  bool skip_mcu(BitReader& in);
  Bytes unstuff(Bytes tile);

  std::array<HuffmanTable, 4> dc_, ac_;
  Buffer samples_[3], clean_;
  std::vector<size_t> ends_;  // where each tile found so far ends, from the start of the scan
  Part parts_[3];
  int part_count_ = 0, mcus_across_ = 0;
  Window window_{};
  int last_dc_[3] = {};
  alignas(32) int16_t blocks_[12][64] = {};
};

}  // namespace penstock
