#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "engine/executorch/aten/convolution.h"
#include "engine/executorch/aten/matrix_product.h"
#include "engine/executorch/aten/triples.h"
#include "kernels/linear/linear_functions.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/packed_weights.h"
#include "kernels/parallel.h"

// Convolutions as products of matrices. A column of the right matrix has what one place of the
// coarse one needs: all that a result is a sum over, or, where the convolution is transposed, the
// channels of an input. Columns are made as many at a time as stay in a processor's cache, in the
// order in which products read them.
namespace polystate {
namespace {

// Elements of an input that a thread copies, at least.
constexpr std::int64_t kElementsCopied = 32'768;
// Of the columns that are made at a time.
constexpr std::int64_t kBytesOfColumns = 262'144;

// Numbers `first` to `last - 1`.
struct Range {
  std::int64_t first;
  std::int64_t last;

  [[nodiscard]] std::int64_t count() const { return last - first; }
};

// Fills `count` neighbouring columns of a tile: row `i` with what lies `offsets[i]` behind `from`,
// and every `stride` from there on.
using FillLanes = void (*)(const float* from, std::int64_t count, std::int64_t stride,
                           std::span<const std::int64_t> offsets, float* to);

// Of kCount columns, which is known to the compiler, as is a stride other than 0.
template <std::int64_t kStride, std::int64_t kCount>
void fill_some_lanes(const float* from, std::int64_t stride, std::span<const std::int64_t> offsets,
                     float* to) {
  const std::int64_t step = kStride > 0 ? kStride : stride;
  for (const std::int64_t offset : offsets) {
    for (std::int64_t i = 0; i < kCount; ++i) to[i] = from[offset + i * step];
    to += kTileColumns;
  }
}

template <std::int64_t kStride>
void fill_lanes(const float* from, std::int64_t count, std::int64_t stride,
                std::span<const std::int64_t> offsets, float* to) {
  static constexpr auto kByCount =
      []<std::int64_t... kCounts>(std::integer_sequence<std::int64_t, kCounts...>) {
        return std::array{&fill_some_lanes<kStride, kCounts + 1>...};
      }(std::make_integer_sequence<std::int64_t, kTileColumns>());
  kByCount[static_cast<std::size_t>(count - 1)](from, stride, offsets, to);
}

// The same of whole rows of a tile whose elements lie side by side, as most do.
using FillTile = decltype(&fill_some_lanes<1, kTileColumns>);

FillLanes lane_filler(std::int64_t stride) {
  if (stride == 1) return &fill_lanes<1>;
  return stride == 2 ? &fill_lanes<2> : &fill_lanes<0>;
}

// Columns of planes that lie one after another, without padding.
class Columns {
 public:
  // `places` of one plane have columns; a place is at `place * stride` of a plane. Row `i` of a
  // column is what lies `offsets[i]` behind that.
  Columns(const Triple& places, const Triple& stride, const Triple& sizes,
          std::vector<std::int64_t> offsets)
      : places_(places),
        stride_(stride),
        sizes_(sizes),
        offsets_(std::move(offsets)),
        fill_(lane_filler(stride[2])) {}

  [[nodiscard]] std::int64_t depth() const { return static_cast<std::int64_t>(offsets_.size()); }

  // Fills tiles with the columns of a range of places.
  void fill(const float* planes, Range places, std::vector<float>& tiles) const {
    tiles.resize(static_cast<std::size_t>(tile_count(places.count()) * kTileColumns * depth()));
    for (std::int64_t place = places.first; place < places.last;) {
      const std::int64_t column = place - places.first;
      const std::int64_t width = place % places_[2];
      const std::int64_t lane = column % kTileColumns;
      const std::int64_t count =
          std::min({places.last - place, places_[2] - width, kTileColumns - lane});
      float* const to = tiles.data() + column / kTileColumns * depth() * kTileColumns + lane;
      const float* const from = planes + start_of(place);
      if (count == kTileColumns && stride_[2] == 1) {
        fill_tile_(from, 1, offsets_, to);
      } else {
        fill_(from, count, stride_[2], offsets_, to);
      }
      place += count;
    }
  }

 private:
  [[nodiscard]] std::int64_t start_of(std::int64_t place) const {
    const std::int64_t height = place / places_[2] % places_[1];
    const std::int64_t depth = place / places_[2] / places_[1];
    return (depth * stride_[0] * sizes_[1] + height * stride_[1]) * sizes_[2] +
           place % places_[2] * stride_[2];
  }

  Triple places_;
  Triple stride_;
  Triple sizes_;
  std::vector<std::int64_t> offsets_;
  FillLanes fill_;
  FillTile fill_tile_ = vectorised<&fill_some_lanes<1, kTileColumns>>(best_instruction_set());
};

// Places of which columns are made at a time: some tiles, or all there are.
std::int64_t places_at_once(std::int64_t depth, std::int64_t places) {
  constexpr std::int64_t kFewestTiles = 4;
  const std::int64_t bytes = depth * kTileColumns * std::int64_t{sizeof(float)};
  return std::min(places, kTileColumns * std::max(kFewestTiles, kBytesOfColumns / bytes));
}

// Rows that lie one after another.
struct Rows {
  const float* values;  // [count, depth]
  std::int64_t count;
  std::int64_t depth;
};

// `out` [rows, stride]: rows times `columns` columns that lie in tiles.
void multiply(const Rows& rows, std::int64_t columns, const std::vector<float>& tiles,
              std::int64_t stride, float* out) {
  static const MultiplyFloats function = fastest_multiply_floats();
  FloatProduct product{
      .rows = {.values = rows.values, .stride = rows.depth},
      .weights = {.tiles = tiles.data(), .bias = nullptr, .columns = stride, .depth = rows.depth},
      .activation = Activation::kNone,
      .addend = nullptr,
      .out = out};
  const std::int64_t rest = stride == columns ? 0 : columns % kTileColumns;
  const std::int64_t count = tile_count(columns - rest);
  function(product, rows.count, {0, count});
  if (rest == 0) return;
  // The last tile is not whole. Written at once, it would end in the results of the next places.
  std::vector<float> of_rest(static_cast<std::size_t>(rows.count * rest));
  product.weights.tiles += count * kTileColumns * rows.depth;
  product.weights.columns = rest;
  product.out = of_rest.data();
  function(product, rows.count, {0, 1});
  for (std::int64_t row = 0; row < rows.count; ++row) {
    std::copy_n(of_rest.data() + row * rest, rest, out + row * stride + columns - rest);
  }
}

// The input with its padding, where there is some.
struct PaddedInput {
  explicit PaddedInput(const Convolution& call) : values(call.input.data<float>()) {
    const Triple& padding = call.padding;
    for (std::size_t i = 0; i < 3; ++i) sizes[i] = call.sizes[i] + 2 * padding[i];
    if (sizes == call.sizes) return;
    const std::int64_t planes = call.batch * call.groups * call.inputs;
    padded.resize(static_cast<std::size_t>(planes * Convolution::product(sizes)));
    const std::int64_t lines = call.sizes[0] * call.sizes[1];
    const std::int64_t grain = kElementsCopied / call.sizes[2] + 1;
    parallel_for(planes * lines, grain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t line = first; line < last; ++line) {
        const std::int64_t height = line % call.sizes[1] + padding[1];
        const std::int64_t depth = line / call.sizes[1] % call.sizes[0] + padding[0];
        const std::int64_t plane = line / lines;
        const std::int64_t to = ((plane * sizes[0] + depth) * sizes[1] + height) * sizes[2];
        std::copy_n(call.input.data<float>() + line * call.sizes[2], call.sizes[2],
                    padded.data() + to + padding[2]);
      }
    });
    values = padded.data();
  }

  std::vector<float> padded;
  const float* values;
  Triple sizes{};
};

// Where the elements lie that a result is a sum over, from the first tap in the first channel on.
std::vector<std::int64_t> offsets_of_taps(const Convolution& call, const Triple& sizes) {
  std::vector<std::int64_t> offsets;
  offsets.reserve(static_cast<std::size_t>(call.depth()));
  const auto& [depths, heights, widths] = call.kernel;
  for (std::int64_t channel = 0; channel < call.inputs; ++channel) {
    for (std::int64_t d = 0; d < depths; ++d) {
      for (std::int64_t h = 0; h < heights; ++h) {
        for (std::int64_t w = 0; w < widths; ++w) {
          const std::int64_t depth = channel * sizes[0] + d * call.dilation[0];
          const std::int64_t line = depth * sizes[1] + h * call.dilation[1];
          offsets.push_back(line * sizes[2] + w * call.dilation[2]);
        }
      }
    }
  }
  return offsets;
}

float bias_of(const Convolution& call, std::int64_t channel) {
  return call.bias ? call.bias->data<float>()[channel] : 0.0F;
}

void add_number(float number, std::int64_t count, float* values) {
  for (std::int64_t i = 0; i < count; ++i) values[i] += number;
}

// Into how many blocks of rows products are divided, so that each thread has some. Each block makes
// the columns again, which is worth it for so many rows.
std::int64_t block_count(std::int64_t products, std::int64_t rows) {
  constexpr std::int64_t kFewestRows = 48;
  const std::int64_t for_threads = quotient_up(thread_count(), products);
  return std::clamp<std::int64_t>(rows / kFewestRows, 1, for_threads);
}

void convolve_forward(const Convolution& call) {
  const PaddedInput input(call);
  const Columns columns(call.results, call.stride, input.sizes, offsets_of_taps(call, input.sizes));
  const std::int64_t depth = call.depth();
  const std::int64_t places = Convolution::product(call.results);
  const std::int64_t at_once = places_at_once(depth, places);
  const std::int64_t parts = quotient_up(places, at_once);
  const std::int64_t of_group = call.inputs * Convolution::product(input.sizes);
  const std::int64_t blocks = block_count(call.batch * call.groups * parts, call.outputs);
  const std::int64_t grain = kProductsWorthAThread / (at_once * depth * call.outputs / blocks) + 1;
  const auto add = vectorised<&add_number>(best_instruction_set());
  const auto compute = [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> tiles;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t block = i % blocks;
      const std::int64_t part = i / blocks % parts;
      const std::int64_t group = i / blocks / parts;  // of all batches
      const Range range{part * at_once, std::min(places, (part + 1) * at_once)};
      const Range own{block * call.outputs / blocks, (block + 1) * call.outputs / blocks};
      columns.fill(input.values + group * of_group, range, tiles);
      const std::int64_t first = group % call.groups * call.outputs + own.first;
      float* const results = call.out.mutable_data<float>() +
                             (group * call.outputs + own.first) * places + range.first;
      multiply({call.weight.data<float>() + first * depth, own.count(), depth}, range.count(),
               tiles, places, results);
      if (!call.bias) continue;
      for (std::int64_t channel = 0; channel < own.count(); ++channel) {
        add(bias_of(call, first + channel), range.count(), results + channel * places);
      }
    }
  };
  parallel_for(call.batch * call.groups * parts * blocks, grain, compute);
}

// Weights [groups * inputs, outputs, taps] as [groups, outputs, taps, inputs].
std::vector<float> rows_of_transposed(const Convolution& call) {
  const std::int64_t rows = call.outputs * Convolution::product(call.kernel);
  const auto* const weights = call.weight.data<float>();
  std::vector<float> turned(static_cast<std::size_t>(call.weight.element_count()));
  for (std::int64_t group = 0; group < call.groups; ++group) {
    const std::int64_t start = group * rows * call.inputs;
    for (std::int64_t input = 0; input < call.inputs; ++input) {
      const float* const from = weights + start + input * rows;
      float* const to = turned.data() + start + input;
      for (std::int64_t row = 0; row < rows; ++row) to[row * call.inputs] = from[row];
    }
  }
  return turned;
}

// What each tap of a channel of a transposed convolution adds to the channel's plane.
class Spread {
 public:
  explicit Spread(const Convolution& call)
      : call_(call),
        reaches_{reaches_along(call, 0), reaches_along(call, 1), reaches_along(call, 2)} {}

  // `values` are of each tap, for each of a range of places.
  void add(const float* values, Range places, float* plane) const {
    for (const Reach& depth : reaches_[0]) {
      for (const Reach& height : reaches_[1]) {
        for (const Reach& width : reaches_[2]) {
          add_tap({depth, height, width}, values, places, plane);
          values += places.count();
        }
      }
    }
  }

 private:
  void add_tap(const std::array<Reach, 3>& reach, const float* values, Range places,
               float* plane) const {
    const auto& [depths, heights, widths] = call_.sizes;
    for (std::int64_t line = places.first / widths; line * widths < places.last; ++line) {
      const std::int64_t depth = line / heights - reach[0].coarse;
      const std::int64_t height = line % heights - reach[1].coarse;
      const bool is_reached =
          depth >= 0 && depth < reach[0].count && height >= 0 && height < reach[1].count;
      if (!is_reached) continue;
      const std::int64_t start = line * widths;
      const std::int64_t first = std::max(places.first - start, reach[2].coarse);
      const std::int64_t last = std::min(places.last - start, reach[2].coarse + reach[2].count);
      if (first >= last) continue;
      const std::int64_t to_depth = reach[0].fine + depth * call_.stride[0];
      const std::int64_t to_height = reach[1].fine + height * call_.stride[1];
      const std::int64_t to_line = (to_depth * call_.results[1] + to_height) * call_.results[2];
      const std::int64_t to = to_line + reach[2].fine + (first - reach[2].coarse) * call_.stride[2];
      add_line(values + start + first - places.first, last - first, plane + to);
    }
  }

  void add_line(const float* values, std::int64_t count, float* to) const {
    const std::int64_t stride = call_.stride[2];
    if (stride == 1) {
      for (std::int64_t i = 0; i < count; ++i) to[i] += values[i];
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i * stride] += values[i];
    }
  }

  const Convolution& call_;
  std::array<std::vector<Reach>, 3> reaches_;
};

void convolve_transposed(const Convolution& call) {
  constexpr std::int64_t kFewestRows = 48;  // of a product
  const std::int64_t depth = call.inputs;
  const std::int64_t taps = Convolution::product(call.kernel);
  const std::int64_t places = Convolution::product(call.sizes);
  const std::int64_t results = Convolution::product(call.results);
  const std::vector<float> rows = rows_of_transposed(call);
  std::vector<std::int64_t> channels(static_cast<std::size_t>(depth));
  for (std::int64_t i = 0; i < depth; ++i) channels[static_cast<std::size_t>(i)] = i * places;
  const Columns columns({1, 1, places}, {1, 1, 1}, {1, 1, places}, std::move(channels));
  const Spread spread(call);
  const std::int64_t at_once = places_at_once(depth, places);
  const std::int64_t outputs = std::min(call.outputs, quotient_up(kFewestRows, taps));
  const std::int64_t parts = quotient_up(call.outputs, outputs);
  const std::int64_t grain = kProductsWorthAThread / (places * depth * taps * outputs) + 1;
  parallel_for(call.batch * call.groups * parts, grain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> tiles;
    std::vector<float> products;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t group = i / parts;  // of all batches
      const Range own{i % parts * outputs, std::min(call.outputs, (i % parts + 1) * outputs)};
      const std::int64_t first = group % call.groups * call.outputs + own.first;
      float* const planes =
          call.out.mutable_data<float>() + (group * call.outputs + own.first) * results;
      for (std::int64_t channel = 0; channel < own.count(); ++channel) {
        std::fill_n(planes + channel * results, results, bias_of(call, first + channel));
      }
      for (std::int64_t place = 0; place < places; place += at_once) {
        const Range range{place, std::min(places, place + at_once)};
        columns.fill(call.input.data<float>() + group * depth * places, range, tiles);
        const std::int64_t count = own.count() * taps;
        products.resize(static_cast<std::size_t>(count * range.count()));
        multiply({rows.data() + first * taps * depth, count, depth}, range.count(), tiles,
                 range.count(), products.data());
        for (std::int64_t channel = 0; channel < own.count(); ++channel) {
          spread.add(products.data() + channel * taps * range.count(), range,
                     planes + channel * results);
        }
      }
    }
  });
}

}  // namespace

void convolve_by_products(const Convolution& call) {
  call.is_transposed ? convolve_transposed(call) : convolve_forward(call);
}

}  // namespace polystate
