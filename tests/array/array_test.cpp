// Arrays against plain loops, and identities of products and decompositions.
#include "kinflow/array/array.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "kinflow/core/error.h"
#include "tests/random_arrays.h"

namespace kinflow {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double largest(const Array& array) { return array.abs().max().item<double>(); }

Array numbers(std::vector<double> values, nd::IntArrayRef sizes) {
  return nd::tensor(values).view(sizes);
}

Array positive_definite(std::int64_t n) {
  const auto root = normal_array({n, n}, nd::kDouble);
  return nd::mm(root, root.t()) + nd::eye(n, nd::kDouble);
}

TEST(Arrays, HandlesShareNumbersAndViewsWriteThroughThem) {
  const auto array = nd::zeros({3, 4}, nd::kDouble);
  const auto same = array;
  array.select(0, 1).fill_(2);
  array.t()[3].copy_(nd::tensor({7, 8, 9}));
  array[0][0] = 5;
  array.narrow(1, 1, 2).add_(1);
  EXPECT_TRUE(same.equal(numbers({5, 1, 1, 7, 2, 3, 3, 8, 0, 1, 1, 9}, {3, 4})));
  auto other = array;
  other = nd::ones({2}, nd::kDouble);  // a named handle takes another array
  EXPECT_EQ(array.numel(), 12);
  EXPECT_FALSE(Array().defined());
}

TEST(Arrays, ViewsOfStridedMemoryAreThoseOfACopy) {
  seed_numbers(1);
  const auto array = normal_array({2, 3, 4, 5}, nd::kDouble);
  const auto moved = array.permute({2, 0, 3, 1});
  EXPECT_EQ(moved.sizes(), nd::IntArrayRef({4, 2, 5, 3}));
  const auto copy = moved.contiguous();
  EXPECT_TRUE(copy.is_contiguous());
  EXPECT_FALSE(moved.is_contiguous());
  for (std::int64_t i = 0; i < 4; ++i) {
    for (std::int64_t j = 0; j < 2; ++j) {
      for (std::int64_t k = 0; k < 5; ++k) {
        for (std::int64_t l = 0; l < 3; ++l) {
          ASSERT_EQ(copy[i][j][k][l].item<double>(), array[j][l][i][k].item<double>());
        }
      }
    }
  }
  EXPECT_TRUE(moved.reshape({8, 15}).equal(copy.view({8, 15})));
  EXPECT_TRUE(moved.flatten(1, 2).equal(copy.view({4, 10, 3})));
  EXPECT_THROW(moved.view({8, 15}), std::logic_error);
  // The first two axes of a permutation that leaves them together are one.
  EXPECT_TRUE(array.permute({2, 3, 0, 1})
                  .view({20, 6})
                  .equal(array.permute({2, 3, 0, 1}).contiguous().view({20, 6})));
  EXPECT_TRUE(copy.unflatten(2, {5, 1}).squeeze(3).equal(copy));
  EXPECT_TRUE(array.diagonal(1, 1, 2).equal(
      nd::stack({array.select(1, 0).select(1, 1), array.select(1, 1).select(1, 2),
                 array.select(1, 2).select(1, 3)},
                2)));
  EXPECT_TRUE(array.slice(3, 1, 5, 2)
                  .equal(nd::stack({array.select(3, 1), array.select(3, 3)}, 3)));
}

TEST(Arrays, ArithmeticBroadcastsAndKeepsTypes) {
  const auto column = numbers({1, 2}, {2, 1}), row = numbers({10, 20, 30}, {1, 3});
  EXPECT_TRUE((column + row).equal(numbers({11, 21, 31, 12, 22, 32}, {2, 3})));
  EXPECT_TRUE((row / column).equal(numbers({10, 20, 30, 5, 10, 15}, {2, 3})));
  EXPECT_TRUE((1 - column).equal(numbers({0, -1}, {2, 1})));
  const auto whole = nd::tensor(std::vector<std::int64_t>{-7, 0, 7});
  EXPECT_EQ((whole + 1).scalar_type(), nd::kLong);
  EXPECT_EQ((whole * 0.5).scalar_type(), nd::kDouble);
  EXPECT_EQ((whole.to(nd::kFloat) * 0.5).scalar_type(), nd::kFloat);
  EXPECT_EQ((whole.to(nd::kFloat) + nd::ones({3}, nd::kDouble)).scalar_type(),
            nd::kDouble);
  EXPECT_EQ((whole.to(nd::kFloat) + nd::ones({}, nd::kDouble)).scalar_type(),
            nd::kFloat);
  EXPECT_TRUE((whole % 4).equal(nd::tensor(std::vector<std::int64_t>{1, 0, 3})));
  EXPECT_TRUE(
      whole.floor_divide(4).equal(nd::tensor(std::vector<std::int64_t>{-2, 0, 1})));
  EXPECT_EQ(whole.gt(0).sum().item<std::int64_t>(), 1);
  EXPECT_THROW(column + numbers({1, 2, 3}, {3, 1}), std::logic_error);
  EXPECT_THROW(column.data_ptr<float>(), std::logic_error);
}

TEST(Arrays, SumsOfAnyAxesAreThoseOfLoops) {
  seed_numbers(2);
  const auto base = normal_array({3, 4, 5, 6}, nd::kDouble);
  for (const auto& array : {base, base.permute({3, 1, 0, 2}), base.transpose(0, 2)}) {
    for (const auto& axes : {nd::IntArrayRef{0}, nd::IntArrayRef{-1},
                             nd::IntArrayRef{1, 2}, nd::IntArrayRef{0, 3}}) {
      auto expected = array;
      auto sorted = axes.vec();
      for (auto& axis : sorted) axis = axis < 0 ? axis + 4 : axis;
      std::sort(sorted.rbegin(), sorted.rend());
      for (const auto axis : sorted) {
        auto total = nd::zeros(expected.select(axis, 0).sizes(), nd::kDouble);
        for (std::int64_t i = 0; i < expected.size(axis); ++i) {
          total += expected.select(axis, i);
        }
        expected = total;
      }
      EXPECT_LT(largest(array.sum(axes) - expected), 1e-13);
      EXPECT_EQ(array.sum(axes, true).dim(), 4);
    }
  }
  // Rounding errors of a long sum of equal signs do not add up.
  const auto many = nd::full({1'000'003}, 0.1, nd::kDouble);
  EXPECT_NEAR(many.sum().item<double>(), 100000.3, 1e-9);
  EXPECT_NEAR(many.view({-1, 1}).expand({-1, 3}).contiguous().sum(0)[1].item<double>(),
              100000.3, 1e-9);
  EXPECT_NEAR(many.to(nd::kFloat).sum().item<double>(), 100000.3, 0.01);
  EXPECT_EQ(nd::zeros({0, 3}, nd::kDouble).sum(0).numel(), 3);
}

TEST(Arrays, ExtremesMeansAndVariances) {
  const auto array = numbers({3, 1, 2, 5, 9, 4}, {2, 3});
  EXPECT_TRUE(array.amax(0).equal(nd::tensor({5, 9, 4})));
  EXPECT_TRUE(array.argmin(1).equal(nd::tensor(std::vector<std::int64_t>{1, 2})));
  const auto [values, places] = array.max(1);
  EXPECT_TRUE(values.equal(nd::tensor({3, 9})));
  EXPECT_TRUE(places.equal(nd::tensor(std::vector<std::int64_t>{0, 1})));
  EXPECT_TRUE(std::isnan(numbers({1, kNan, 2}, {3}).max().item<double>()));
  EXPECT_EQ(numbers({1, kNan, 2}, {3}).argmax().item<std::int64_t>(), 1);
  EXPECT_TRUE(array.mean(1).equal(nd::tensor({2, 6})));
  EXPECT_NEAR(array.var(0)[0].item<double>(), 2, 1e-15);
  EXPECT_NEAR(array.std().item<double>(), std::sqrt(8.0), 1e-14);
  EXPECT_NEAR(array.norm().item<double>(), std::sqrt(136.0), 1e-14);
  EXPECT_TRUE(array.cumsum(1).equal(numbers({3, 4, 6, 5, 14, 18}, {2, 3})));
  EXPECT_TRUE(array.diff(1, 0).equal(numbers({2, 8, 2}, {1, 3})));
  EXPECT_NEAR(numbers({1000, 1000}, {2}).logsumexp(0).item<double>(),
              1000 + std::log(2), 1e-12);
  EXPECT_EQ(numbers({-kInfinity, -kInfinity}, {2}).logsumexp(0).item<double>(),
            -kInfinity);
  EXPECT_NEAR(array.log_softmax(1).exp().sum(1)[0].item<double>(), 1, 1e-15);
  EXPECT_NEAR(nd::nanquantile(numbers({4, kNan, 1, 2, 3}, {5}), 0.5, 0).item<double>(),
              2.5, 1e-15);
}

TEST(Arrays, ElementsByNumber) {
  const auto array = numbers({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {3, 4});
  const auto places = nd::tensor(std::vector<std::int64_t>{2, 0, 2});
  EXPECT_TRUE(array.index_select(0, places)[0].equal(array[2]));
  EXPECT_TRUE(
      array.t().index_select(1, places).equal(array.index_select(0, places).t()));
  auto sums = nd::zeros({3, 4}, nd::kDouble);
  sums.index_add_(0, places, array);
  EXPECT_TRUE(sums[2].equal(array[0] + array[2]));
  EXPECT_TRUE(sums[1].equal(nd::zeros({4}, nd::kDouble)));
  auto by_columns = nd::zeros({4, 3}, nd::kDouble);
  by_columns.t().index_add_(0, places, array);
  EXPECT_TRUE(by_columns.t().equal(sums));
  auto copied = nd::zeros({3, 4}, nd::kDouble);
  copied.index_copy_(1, nd::tensor(std::vector<std::int64_t>{3, 1}),
                     array.narrow(1, 0, 2));
  EXPECT_TRUE(copied.select(1, 3).equal(array.select(1, 0)));
  auto put = nd::zeros({2, 3, 2}, nd::kDouble);
  put.index_put_({nd::tensor(std::vector<std::int64_t>{0, 1}).unsqueeze(1),
                  nd::tensor(std::vector<std::int64_t>{2, 0}).unsqueeze(0)},
                 numbers({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2}));
  EXPECT_TRUE(put.equal(numbers({3, 4, 0, 0, 1, 2, 7, 8, 0, 0, 5, 6}, {2, 3, 2})));
  const auto order = nd::tensor({3, 1, kNan, 2}).argsort();
  EXPECT_TRUE(order.equal(nd::tensor(std::vector<std::int64_t>{1, 3, 0, 2})));
  const auto [sorted, from] = array.sort(0, /*descending=*/true);
  EXPECT_TRUE(sorted.equal(array.flip(0)));
  EXPECT_TRUE(array.gather(0, from).equal(sorted));
  auto scattered = nd::zeros({3, 4}, nd::kDouble);
  scattered.scatter_(0, from, sorted);
  EXPECT_TRUE(scattered.equal(array));
  EXPECT_TRUE(array.masked_select(array.gt(9)).equal(nd::tensor({10, 11})));
  EXPECT_TRUE(array.gt(9).nonzero().equal(
      nd::tensor(std::vector<std::int64_t>{2, 2, 2, 3}).view({2, 2})));
  const auto [distinct, place, counts] =
      nd::_unique2(nd::tensor(std::vector<std::int64_t>{5, -1, 5, 3}), true);
  EXPECT_TRUE(distinct.equal(nd::tensor(std::vector<std::int64_t>{-1, 3, 5})));
  EXPECT_TRUE(place.equal(nd::tensor(std::vector<std::int64_t>{2, 0, 2, 1})));
  EXPECT_TRUE(counts.equal(nd::tensor(std::vector<std::int64_t>{1, 1, 2})));
  EXPECT_THROW(array.index_select(0, nd::tensor(std::vector<std::int64_t>{3})),
               std::logic_error);
}

TEST(Arrays, WhatIsReadIsNotChangedByWhatIsWritten) {
  const auto square = numbers({1, 2, 3, 4}, {2, 2});
  auto array = square.clone();
  array.sub_(array[0]);
  EXPECT_TRUE(array.equal(numbers({0, 0, 2, 2}, {2, 2})));
  array = square.clone();
  array.add_(array.t());
  EXPECT_TRUE(array.equal(numbers({2, 5, 5, 8}, {2, 2})));
  array = square.clone();
  array.copy_(array.t());
  EXPECT_TRUE(array.equal(square.t()));
  array = square.clone();
  array.div_(array[1][1]);
  EXPECT_TRUE(array.equal(square / 4));
  array = square.clone();
  nd::where_out(array, array.gt(1), array.t(), array);
  EXPECT_TRUE(array.equal(numbers({1, 3, 2, 4}, {2, 2})));
  const auto swapped = nd::tensor(std::vector<std::int64_t>{1, 0});
  array = square.clone();
  array.index_copy_(0, swapped, array);
  EXPECT_TRUE(array.equal(square.flip(0)));
  array = square.clone();
  array.index_add_(1, swapped, array);
  EXPECT_TRUE(array.equal(numbers({3, 3, 7, 7}, {2, 2})));
  array = square.clone();
  array.scatter_(0, swapped.unsqueeze(1).expand({2, 2}), array);
  EXPECT_TRUE(array.equal(square.flip(0)));
  array = square.clone();
  array.index_put_({swapped}, array);
  EXPECT_TRUE(array.equal(square.flip(0)));
  // A repetition is a copy, also where every number is there once.
  square.repeat_interleave(1, 0).zero_();
  const auto row = numbers({1, 2}, {1, 2});
  row.repeat_interleave(3, 0).add_(row);
  EXPECT_TRUE(row.equal(numbers({1, 2}, {1, 2})));
  EXPECT_EQ(square.sum().item<double>(), 10);
}

TEST(Arrays, PlacesOutsideAreRefused) {
  const auto array = numbers({1, 2, 3, 4, 5, 6}, {2, 3});
  const auto places = [](std::vector<std::int64_t> values) {
    return nd::tensor(values);
  };
  EXPECT_THROW(array[2], std::logic_error);
  EXPECT_THROW(array[-3], std::logic_error);
  EXPECT_TRUE(array[-2].equal(array[0]));
  EXPECT_THROW(array.index_put_({places({0, 2})}, 0), std::logic_error);
  EXPECT_THROW(array.index_put_({array.gt(2)}, 0), std::logic_error);
  EXPECT_THROW(array.gather(1, places({0, 0, 0}).view({3, 1})), std::logic_error);
  EXPECT_THROW(array.gather(1, array), std::logic_error);
  EXPECT_THROW(array.gather(1, places({0, 1})), std::logic_error);
  EXPECT_THROW(array.index_copy_(0, places({0}), array), std::logic_error);
  EXPECT_THROW(array.split(0), std::logic_error);
  EXPECT_THROW(array.repeat({2}), std::logic_error);
  EXPECT_THROW(array.clone().copy_(Array()), std::logic_error);
  EXPECT_THROW(array + Array(), std::logic_error);
  EXPECT_THROW(places({1}).add_(0.5), std::logic_error);
  EXPECT_THROW(places({1}).add_(nd::tensor({0.5})), std::logic_error);
  EXPECT_THROW(nd::bincount(places({1}), nd::tensor({0.5}), 1), std::logic_error);
  constexpr std::int64_t kMany = std::int64_t{1} << 32;
  EXPECT_THROW(nd::empty({kMany, kMany}), std::bad_alloc);
}

TEST(Arrays, EmptyAxes) {
  const auto none = nd::from_blob(nullptr, {0, 3}, nd::kDouble);
  EXPECT_TRUE(none.defined());
  EXPECT_EQ(nd::cat({none, nd::ones({2, 3}, nd::kDouble)}).size(0), 2);
  EXPECT_EQ(none.t().view({3, 0, 1}).dim(), 3);
  const auto products =
      nd::matmul(nd::zeros({2, 3, 0}, nd::kDouble), nd::zeros({0, 4}, nd::kDouble));
  EXPECT_TRUE(products.equal(nd::zeros({2, 3, 4}, nd::kDouble)));
  EXPECT_TRUE(
      nd::matmul(nd::zeros({2, 3, 0}, nd::kDouble), nd::zeros({2, 0, 4}, nd::kDouble))
          .equal(products));
  EXPECT_TRUE(nd::tensordot(nd::zeros({2, 3, 0}, nd::kDouble),
                            nd::zeros({0, 4}, nd::kDouble), {2}, {0})
                  .equal(products));
  const auto added = nd::ones({2, 2}, nd::kDouble);
  EXPECT_TRUE(nd::addmm(added, nd::zeros({2, 0}, nd::kDouble),
                        nd::zeros({0, 2}, nd::kDouble), 3)
                  .equal(3 * added));
  EXPECT_EQ(none.cumsum(0).numel(), 0);
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(nd::empty({kHuge, kHuge, 0, kHuge, kHuge}).numel(), 0);
}

TEST(Arrays, InfiniteAndLargeNumbers) {
  EXPECT_FALSE(nd::allclose(nd::tensor({5}), nd::tensor({kInfinity})));
  EXPECT_TRUE(nd::allclose(nd::tensor({kInfinity}), nd::tensor({kInfinity})));
  EXPECT_EQ(nd::nanquantile(nd::tensor({1, 2, kInfinity}), 0.5, 0).item<double>(), 2);
  EXPECT_EQ(nd::nanquantile(nd::tensor({kInfinity}), 0.5, 0).item<double>(), kInfinity);
  constexpr std::int64_t kLarge = (std::int64_t{1} << 53) + 1;
  EXPECT_EQ(nd::tensor(std::vector<std::int64_t>{kLarge, 2}).sum().item<std::int64_t>(),
            kLarge + 2);
  // Where the limits contradict each other the upper one holds.
  EXPECT_EQ(nd::tensor({-3}).clamp(0, -1).item<double>(), -1);
}

TEST(Arrays, RowsOfStridedMemoryByNumber) {
  seed_numbers(5);
  const auto base = normal_array({4, 70, 3}, nd::kDouble);
  const auto view = base.permute({1, 2, 0});
  const auto places = nd::tensor(std::vector<std::int64_t>{69, 0, 69});
  const auto copy = view.contiguous();
  EXPECT_TRUE(view.index_select(0, places).equal(copy.index_select(0, places)));
  EXPECT_TRUE(view.index_select(1, nd::arange(3)).equal(copy));
  const auto values = normal_array({2, 3, 4}, nd::kDouble);
  const auto two = nd::tensor(std::vector<std::int64_t>{5, 1});
  EXPECT_TRUE(
      view.clone().index_copy_(0, two, values).equal(view.index_copy_(0, two, values)));
  EXPECT_TRUE(base.select(1, 5).equal(values[0].t()));
  const auto sums = base.permute({0, 2, 1}).cumsum(1);
  EXPECT_LT(largest(sums.select(1, 2) - base.sum(2)), 1e-14);
}

TEST(Arrays, NewShapes) {
  const auto array = numbers({1, 2, 3, 4}, {2, 2});
  EXPECT_TRUE(array.repeat({2, 1}).equal(nd::cat({array, array})));
  EXPECT_TRUE(array.repeat({2, 1, 2})[1].equal(nd::cat({array, array}, 1)));
  EXPECT_TRUE(
      array.repeat_interleave(2, 0).equal(numbers({1, 2, 1, 2, 3, 4, 3, 4}, {4, 2})));
  EXPECT_TRUE(array.triu(1).equal(numbers({0, 2, 0, 0}, {2, 2})));
  EXPECT_TRUE(array.tril().equal(numbers({1, 0, 3, 4}, {2, 2})));
  EXPECT_TRUE(nd::diag_embed(array)[1].equal(numbers({3, 0, 0, 4}, {2, 2})));
  EXPECT_TRUE(nd::constant_pad_nd(array, {1, 0, 0, 1}, 9)
                  .equal(numbers({9, 1, 2, 9, 3, 4, 9, 9, 9}, {3, 3})));
  EXPECT_TRUE(nd::cat({nd::zeros({0}, nd::kDouble), array}).equal(array));
  EXPECT_TRUE(nd::where(array.gt(2), array, 0.0).equal(numbers({0, 0, 3, 4}, {2, 2})));
  EXPECT_TRUE(nd::take_along_dim(
                  array, nd::tensor(std::vector<std::int64_t>{1, 0}).view({2, 1}), 1)
                  .equal(numbers({2, 3}, {2, 1})));
}

TEST(Products, OfAnyStridesAreThoseOfLoops) {
  seed_numbers(3);
  const auto a = normal_array({4, 6}, nd::kDouble),
             b = normal_array({6, 5}, nd::kDouble);
  auto expected = nd::zeros({4, 5}, nd::kDouble);
  for (std::int64_t i = 0; i < 4; ++i) {
    for (std::int64_t j = 0; j < 5; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < 6; ++k) {
        sum += a[i][k].item<double>() * b[k][j].item<double>();
      }
      expected[i][j] = sum;
    }
  }
  const auto transposed = [](const Array& m) { return m.t().contiguous().t(); };
  for (const auto& left : {a, transposed(a)}) {
    for (const auto& right : {b, transposed(b), b.repeat({1, 2}).slice(1, 0, 5)}) {
      EXPECT_LT(largest(nd::mm(left, right) - expected), 1e-13);
    }
  }
  // Every second column is neither rows nor columns in memory.
  const auto spread = nd::zeros({6, 10}, nd::kDouble);
  spread.slice(1, 0, 10, 2).copy_(b);
  EXPECT_LT(largest(nd::mm(a, spread.slice(1, 0, 10, 2)) - expected), 1e-13);
  const auto out = nd::zeros({5, 4}, nd::kDouble);
  nd::mm_out(out.t(), a, b);
  EXPECT_LT(largest(out.t() - expected), 1e-13);
  out.t().addmm_(a, b);
  EXPECT_LT(largest(out.t() - 2 * expected), 1e-13);
  EXPECT_LT(largest(nd::addmm(expected, a, b, 2, -1) - expected), 1e-13);
  const auto stack = nd::matmul(nd::stack({a, 2 * a}).unsqueeze(1), b);
  EXPECT_EQ(stack.sizes(), nd::IntArrayRef({2, 1, 4, 5}));
  EXPECT_LT(largest(stack[1][0] - 2 * expected), 1e-13);
  EXPECT_LT(largest(nd::matmul(a, nd::stack({b, 3 * b}))[1] - 3 * expected), 1e-13);
  // Stacks whose matrices are rows, columns, neither of both, and one for all.
  const auto lefts = nd::stack({a, 2 * a, -a});
  const auto rights = nd::stack({b, b, 3 * b}),
             wide = nd::zeros({3, 6, 10}, nd::kDouble);
  const auto spread_rights = wide.slice(2, 0, 10, 2);
  spread_rights.copy_(rights);
  for (const auto& left : {lefts, lefts.mT().contiguous().mT()}) {
    for (const auto& right : {rights, rights.mT().contiguous().mT(), spread_rights}) {
      const auto products = nd::bmm(left, right);
      EXPECT_LT(largest(products[1] - 2 * expected), 1e-13);
      EXPECT_LT(largest(products[2] + 3 * expected), 1e-13);
      EXPECT_LT(largest(nd::baddbmm(products, left, right) - 2 * products), 1e-13);
    }
  }
  const auto all_pairs = nd::matmul(lefts.unsqueeze(1), rights);
  EXPECT_EQ(all_pairs.sizes(), nd::IntArrayRef({3, 3, 4, 5}));
  EXPECT_LT(largest(all_pairs[1][2] - 6 * expected), 1e-12);
  EXPECT_LT(largest(nd::mv(a, b.select(1, 2)) - expected.select(1, 2)), 1e-13);
  EXPECT_LT(largest(nd::tensordot(a, b, {1}, {0}) - expected), 1e-13);
  EXPECT_LT(largest(nd::kron(a, b).narrow(0, 6, 6).narrow(1, 5, 5) -
                    a[1][1].item<double>() * b),
            1e-13);
  EXPECT_EQ(nd::mm(nd::zeros({2, 0}, nd::kDouble), nd::zeros({0, 3}, nd::kDouble))
                .abs()
                .sum()
                .item<double>(),
            0);
}

TEST(Decompositions, GiveTheirMatrixBack) {
  seed_numbers(4);
  const auto stack = nd::stack({positive_definite(5), positive_definite(5)});
  const auto root = nd::linalg_cholesky(stack);
  EXPECT_LT(largest(nd::matmul(root, root.mT()) - stack), 1e-12);
  EXPECT_EQ(largest(root.triu(1)), 0);
  EXPECT_LT(largest(nd::cholesky_inverse(root) - nd::linalg_inv(stack)), 1e-12);
  const auto right = normal_array({2, 5, 3}, nd::kDouble);
  EXPECT_LT(largest(nd::matmul(stack, nd::cholesky_solve(right, root)) - right), 1e-11);
  EXPECT_LT(largest(nd::matmul(stack, nd::linalg_solve(stack, right)) - right), 1e-11);
  const auto [codes_of, codes] =
      nd::linalg_cholesky_ex(nd::stack({positive_definite(3), -positive_definite(3)}));
  EXPECT_EQ(codes[0].item<std::int64_t>(), 0);
  EXPECT_GT(codes[1].item<std::int64_t>(), 0);
  EXPECT_THROW(nd::linalg_cholesky(-stack), NumericalError);
  for (const bool upper : {false, true}) {
    const auto triangle = upper ? root.mT() : root;
    for (const auto& given : {triangle, triangle.contiguous()}) {
      EXPECT_LT(
          largest(nd::matmul(given, nd::linalg_solve_triangular(given, right, upper)) -
                  right),
          1e-12);
      EXPECT_LT(largest(nd::matmul(nd::linalg_solve_triangular(given, right.mT(), upper,
                                                               /*left=*/false),
                                   given) -
                        right.mT()),
                1e-12);
    }
  }
  const auto [values, vectors] = nd::linalg_eigh(stack);
  EXPECT_LT(largest(nd::matmul(vectors * values.unsqueeze(1), vectors.mT()) - stack),
            1e-12);
  EXPECT_LT(largest(nd::linalg_eigvalsh(stack) - values), 1e-12);
  EXPECT_GE(values.diff().min().item<double>(), 0);
  const auto [sign, log_det] = nd::linalg_slogdet(stack);
  EXPECT_LT(largest(log_det - values.log().sum(1)), 1e-12);
  EXPECT_LT(largest(sign - 1), 1e-15);
  for (const auto& wide :
       {normal_array({6, 4}, nd::kDouble), normal_array({4, 6}, nd::kDouble)}) {
    const auto [q, r] = nd::linalg_qr(wide);
    EXPECT_LT(largest(nd::mm(q, r) - wide), 1e-13);
    EXPECT_LT(largest(nd::mm(q.t(), q) - nd::eye(q.size(1), nd::kDouble)), 1e-14);
    const auto [u, s, v] = nd::svd(wide);
    EXPECT_LT(largest(nd::mm(u * s, v.t()) - wide), 1e-13);
    const auto [p, lower, upper] = nd::linalg_lu(wide);
    EXPECT_LT(largest(nd::mm(nd::mm(p, lower), upper) - wide), 1e-13);
    const auto inverse = nd::pinverse(wide);
    EXPECT_LT(largest(nd::mm(nd::mm(wide, inverse), wide) - wide), 1e-13);
  }
  const auto low_rank = nd::mm(right[0], right[0].t());
  const auto inverse = nd::linalg_pinv(low_rank, 1e-12, /*hermitian=*/true);
  EXPECT_LT(largest(nd::mm(nd::mm(low_rank, inverse), low_rank) - low_rank), 1e-11);
  const auto negative = nd::diag(nd::tensor({-2, 3}));
  EXPECT_EQ(std::get<0>(nd::linalg_slogdet(negative)).item<double>(), -1);
}

}  // namespace
}  // namespace kinflow
