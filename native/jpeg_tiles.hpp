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
#include "chroma.hpp"
#include "jpeg_header.hpp"
#include "lanes.hpp"
#include "resample.hpp"

namespace penstock {

// The quantised blocks of an image, per component.
struct Coefficients {
  struct Component {
    int across, down;                  // blocks
    std::vector<const int16_t*> rows;  // per row of blocks, one block after another, row-major
    std::array<uint16_t, 64> quantizer;  // row-major
  };
  std::vector<Component> components;
};

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

  // After decoding at reduced size: how far full-size colours lie outside their range, from a sample of MCUs. Reduced
  // planes do not tell: means hide what will be cut off.
  double sampled_overshoot() const { return sampled_mcus_ ? overshoot_sum_ / sampled_mcus_ : 0; }

  // Whether the whole image decodes to these coefficients, with the quantisers that they came with.
  bool matches(Bytes data, const JpegHeader& header, const Coefficients& expected);

 private:
  static constexpr int kLanes = 3;
  static constexpr int kMostBlocks = 10;  // of one MCU: 4 × 2 of luma, 2 of chroma

  struct Part {  // one component's share of an MCU and of the output
    int blocks_x, blocks_y;  // blocks per MCU
    int size;                // samples per block, each way
    int reduction;
    const HuffmanTable *dc, *ac;
    const uint16_t* quantizer;
    uint8_t* samples;
    size_t stride;
    int width() const { return size * blocks_x; }  // samples per MCU
    int height() const { return size * blocks_y; }
  };
  struct Window {  // wanted MCUs
    int row_start, row_stop, column_start, column_stop;
    bool holds(int row, int column) const {
      return row >= row_start && row < row_stop && column >= column_start && column < column_stop;
    }
  };
  struct TileLane : Lane {  // a tile under way
    int stop_mcu = 0;       // the scan's MCU to stop before
    bool whole = false;     // the tile ends there
    int mcu = 0, row = 0, column = 0;
    int block_in_mcu = 0;
    int last_dc[3] = {};
    alignas(32) int16_t blocks[kMostBlocks][64] = {};  // zero but for what the MCU under way has written
    Buffer clean;
  };

  bool prepare(const JpegHeader& header);
  void choose_window(const Range x[3], const Range y[3]);
  void lay_planes(const Range x[3], const Range y[3], Plane planes[3]);
  bool run_tiles(Bytes data, const JpegHeader& header);
  bool find_tiles(Bytes scan, int interval, int last_tile);
  bool list_wanted();
  bool open_tile(TileLane& lane);
  bool open_block(TileLane& lane);
  bool next_block(TileLane& lane);
  bool finish_mcu(TileLane& lane);
  bool transform_mcu(TileLane& lane);
  bool compare_mcu(const TileLane& lane) const;
  bool sample_mcu(const TileLane& lane);
  template <int kCount>
  int run(TileLane* const* lanes);

  std::array<HuffmanTable, 4> dc_, ac_;
  Buffer samples_[3];
  std::vector<size_t> ends_;  // where each tile found so far ends, from the start of the scan
  std::vector<int> wanted_;   // tiles to decode
  size_t next_wanted_ = 0;
  Bytes scan_;
  Part parts_[3];
  uint8_t part_of_block_[kMostBlocks] = {};
  int part_count_ = 0, reduction_ = 1, block_count_ = 0, mcus_across_ = 0, interval_ = 0, total_ = 0, wanted_stop_ = 0;
  Window window_{};
  TileLane lanes_[kLanes];
  bool damaged_ = false;
  double overshoot_sum_ = 0;
  int sampled_mcus_ = 0;
  const Coefficients* expected_ = nullptr;  // what blocks are compared with, instead of being transformed
};

}  // namespace penstock
