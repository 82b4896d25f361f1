// Readers of relationship matrices: what every format gives, and how it is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kinflow/data/npy.h"
#include "kinflow/data/read_relationship.h"
#include "tests/data/helpers.h"

namespace kinflow {
namespace {

using Numbers = std::vector<double>;
using Ids = std::vector<SampleId>;

const Numbers kMatrix = {1, 0.5, 0, 0.5, 1, 0.25, 0, 0.25, 2};
const Ids kIds = {{"f", "a"}, {"f", "b"}, {"", "c"}};
constexpr const char* kIdLines = "f\ta\nf\tb\n0\tc\n";

template <typename Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()),
          numbers.size() * sizeof(Number)};
}

Numbers parsed(const std::string& bytes, const std::string& name, const Ids& ids = {}) {
  return to_dense(parse_relationship(bytes, name, ids));
}

std::string error(const std::string& bytes, const std::string& name,
                  const Ids& ids = {}) {
  return input_error_of([&] { parse_relationship(bytes, name, ids); });
}

TEST(GrmBinary, IsTheFloat32LowerTriangle) {
  const auto bytes = bytes_of<float>({1, 0.5, 1, 0, 0.25, 2});
  EXPECT_EQ(parsed(bytes, "g.grm.bin", kIds), kMatrix);
  EXPECT_EQ(parsed(bytes, "g.grm.bin"), kMatrix);
}

TEST(GrmBinary, WrongLengthsNameBothNumbersOfBytes) {
  const auto bytes = bytes_of<float>({1, 0.5, 1, 0, 0.25, 2});
  EXPECT_EQ(error(bytes.substr(0, 23), "g.grm.bin", kIds),
            "g.grm.bin: expected 24 bytes, the float32 lower triangle of the 3 rows "
            "that have ids, found 23 bytes");
  EXPECT_EQ(
      error(bytes + bytes, "g.grm.bin"),
      "g.grm.bin: expected 4 n (n + 1) / 2 bytes, the float32 lower triangle of n "
      "rows, found 48 bytes, where 4 rows have 40");
  EXPECT_EQ(
      error("", "g.grm.bin"),
      "g.grm.bin: expected 4 n (n + 1) / 2 bytes, the float32 lower triangle of n "
      "rows, found 0 bytes, where 0 rows have 0");
}

TEST(GrmBinary, NumbersThatAreNotFiniteAreNamed) {
  const auto bytes = bytes_of<float>({1, INFINITY, 1, 0, 0.25, 2});
  EXPECT_EQ(error(bytes, "g.grm.bin", kIds),
            "g.grm.bin: expected finite numbers, found inf in row 1 ('f a'), column 2");
}

TEST(GrmBinary, IsFoundByItsPrefixWithItsIdsAndCounts) {
  const TemporaryFolder folder;
  folder.write("g.grm.bin", bytes_of<float>({1, 0.5, 1, 0, 0.25, 2}));
  folder.write("g.grm.id", kIdLines);
  for (const std::string name : {"g", "g.grm", "g.grm.bin"}) {
    const auto file = read_relationship(folder.path(name));
    EXPECT_EQ(file.dense, kMatrix);
    EXPECT_EQ(file.ids, kIds);
    EXPECT_EQ(file.source, folder.path("g.grm.bin"));
    EXPECT_EQ(file.variants, 0);
  }
  folder.write("g.grm.N.bin", bytes_of<float>({10, 10, 10, 10, 10, 16}));
  EXPECT_EQ(read_relationship(folder.path("g")).variants, 11);
  folder.write("g.grm.N.bin", "short");
  EXPECT_EQ(input_error_of([&] { read_relationship(folder.path("g")); }),
            folder.path("g.grm.N.bin") +
                ": expected 24 bytes, the float32 lower triangle of 3 rows, found 5 "
                "bytes");
  EXPECT_EQ(input_error_of([&] { read_relationship(folder.path("h")); }),
            folder.path("h") + ": cannot read (No such file or directory)");
}

TEST(GrmList, CountsFromOneInAnyOrder) {
  const std::string lines =
      "1 1 9 1\n2\t1\t9\t0.5\n2 2 9 1\n3 3 9 2\n3 1 9 0\n3 2 9 .25\n";
  const auto file = parse_relationship(lines, "g.grm.gz", kIds);
  EXPECT_EQ(file.dense, kMatrix);
  EXPECT_EQ(file.ids, kIds);
  EXPECT_EQ(file.variants, 9);
}

TEST(GrmList, MissingAndRepeatedPairsAreRefused) {
  EXPECT_EQ(error("1 1 9 1\n2 1 9 0\n", "g.grm.gz"),
            "g.grm.gz: expected 3 lines, one for each pair of 2 rows, found 2");
  EXPECT_EQ(error("1 1 9 1\n2 1 9 0\n1 2 9 1\n", "g.grm.gz"),
            "g.grm.gz: expected every pair of rows once, found rows 1 and 2 twice");
  EXPECT_EQ(error("0 1 9 1\n", "g.grm.gz"),
            "g.grm.gz:1: expected a row from 1 to 2147483647, found '0'");
  EXPECT_EQ(error("1 1 9\n", "g.grm.gz"),
            "g.grm.gz:1: expected a value, found the end of the line");
  EXPECT_EQ(error("1 1 9 1 7\n", "g.grm.gz"),
            "g.grm.gz:1: expected the end of the line, found '7'");
  EXPECT_EQ(error("1 1 9 nan\n", "g.grm.gz"),
            "g.grm.gz:1: expected a value, a finite number, found 'nan'");
  EXPECT_EQ(error("1 1 9 1\n", "g.grm.gz", kIds),
            "g.grm.gz: expected 1 ids, one for each row of g.grm.gz, found 3");
}

TEST(GrmSparse, CountsFromZeroAndStaysSparse) {
  const auto file = parse_relationship("0\t0\t1\n1\t0\t0.5\n1 1 1\n2 2 2\n2 1 .25\n",
                                       "g.grm.sp", kIds);
  EXPECT_TRUE(file.is_sparse());
  EXPECT_EQ(file.sparse.row_starts, (std::vector<std::int64_t>{0, 2, 5, 7}));
  EXPECT_EQ(file.sparse.columns, (std::vector<std::int64_t>{0, 1, 0, 1, 2, 1, 2}));
  EXPECT_EQ(file.sparse.values, (Numbers{1, .5, .5, 1, .25, .25, 2}));
  EXPECT_EQ(to_dense(file), kMatrix);
}

TEST(GrmSparse, IndicesOutsideTheIdsAndMissingDiagonalsAreRefused) {
  EXPECT_EQ(error("0 0 1\n3 3 1\n", "g.grm.sp", kIds),
            "g.grm.sp:2: expected a row from 0 to 2, found '3'");
  EXPECT_EQ(error("0 0 1\n1 0 1\n2 0 1\n", "g.grm.sp", kIds),
            "g.grm.sp: expected a diagonal entry for every row, found none for row 2");
  EXPECT_EQ(error("0 0 1\n", "g.grm.sp", kIds),
            "g.grm.sp: expected at least 3 lines, the diagonal of 3 rows, found 1");
  EXPECT_EQ(error("0 0 1\n1 0 1\n0 1 1\n1 1 1\n", "g.grm.sp"),
            "g.grm.sp: expected every pair of rows once, found rows 1 and 2 twice");
}

TEST(Rel, TextIsATriangleASquareOrASquareWithZeros) {
  EXPECT_EQ(parsed("1\n0.5\t1\n0\t0.25\t2\n", "g.rel", kIds), kMatrix);
  EXPECT_EQ(parsed("1 .5 0\n.5 1 .25\n0 .25 2\n", "g.rel", kIds), kMatrix);
  EXPECT_EQ(parsed("1 0 0\n.5 1 0\n0 .25 2\n", "g.rel", kIds), kMatrix);
  EXPECT_EQ(error("1\n0.5\t1\n0\t0.25\n", "g.rel"),
            "g.rel:3: expected 3 numbers as in a lower triangle, found 2");
  EXPECT_EQ(error("1\n0.5\t1\n", "g.rel", kIds),
            "g.rel: expected 2 ids, one for each row of g.rel, found 3");
  EXPECT_EQ(error("1\nx 1\n", "g.rel"),
            "g.rel:2: column 1: expected a number, found 'x'");
}

TEST(Rel, LengthTellsTheBinaryKinds) {
  const Numbers triangle = {1, 0.5, 1, 0, 0.25, 2};
  const Numbers zeros_above = {1, 0, 0, 0.5, 1, 0, 0, 0.25, 2};
  const auto single = [](const Numbers& values) {
    return bytes_of(std::vector<float>(values.begin(), values.end()));
  };
  for (const Numbers& values : {kMatrix, triangle, zeros_above}) {
    EXPECT_EQ(parsed(bytes_of(values), "g.rel.bin", kIds), kMatrix);
    EXPECT_EQ(parsed(single(values), "g.rel.bin", kIds), kMatrix);
  }
  EXPECT_EQ(error(bytes_of(kMatrix).substr(1), "g.rel.bin", kIds),
            "g.rel.bin: expected 72 or 36 bytes (a square of 3 rows in float64 or "
            "float32), or 48 or 24 (a triangle), found 71 bytes");
  EXPECT_EQ(error(bytes_of(kMatrix), "g.rel.bin"),
            "g.rel.bin: expected ids, which say how many rows the file has, found no "
            "file of ids beside it");
}

TEST(King, TrianglesLackTheDiagonalWhichIsOneHalf) {
  const Numbers expected = {0.5, 0.25, 0, 0.25, 0.5, 0.125, 0, 0.125, 0.5};
  EXPECT_EQ(parsed("0.25\n0\t0.125\n", "g.king", kIds), expected);
  EXPECT_EQ(parsed(".5 0 0\n.25 .5 0\n0 .125 .5\n", "g.king", kIds), expected);
  EXPECT_EQ(parsed(bytes_of<double>({0.25, 0, 0.125}), "g.king.bin", kIds), expected);
  EXPECT_EQ(parsed(bytes_of<float>({0.25, 0, 0.125}), "g.king.bin", kIds), expected);
  EXPECT_EQ(parsed(bytes_of(expected), "g.king.bin", kIds), expected);
  EXPECT_EQ(parsed("0.25\n", "g.king"), (Numbers{0.5, 0.25, 0.25, 0.5}));
  auto file = parse_relationship("0.25\n0\t0.125\n", "g.king", kIds);
  EXPECT_EQ(rescale_to_unit_diagonal(file), 2);
  EXPECT_EQ(file.dense, (Numbers{1, 0.5, 0, 0.5, 1, 0.25, 0, 0.25, 1}));
}

TEST(Pairs, AKinshipTableHasItsPeopleInOrderOfAppearance) {
  const auto file = parse_relationship(
      "#FID1\tIID1\tFID2\tIID2\tNSNP\tKINSHIP\nf\tb\tf\ta\t9\t0.25\n0\tc\tf\tb\t9\t0."
      "1\n",
      "g.kin0");
  EXPECT_EQ(file.ids, (Ids{{"f", "b"}, {"f", "a"}, {"", "c"}}));
  EXPECT_EQ(to_dense(file), (Numbers{.5, .25, .1, .25, .5, 0, .1, 0, .5}));
}

TEST(Pairs, AnyTextWithSuchAHeaderIsATableOfPairs) {
  const std::string table =
      "IID1,IID2,relationship\na,a,1\nb,b,1\nb,a,0.5\nc,c,2\nb,c,0.25\n";
  const auto file = parse_relationship(table, "g.csv");
  EXPECT_EQ(file.ids, (Ids{{"", "a"}, {"", "b"}, {"", "c"}}));
  EXPECT_EQ(to_dense(file), kMatrix);
  EXPECT_EQ(to_dense(parse_relationship("a a 1\nb a .5\nb b 1\n", "g.txt", {},
                                        {.format = RelationshipFormat::pairs})),
            (Numbers{1, .5, .5, 1}));
  EXPECT_EQ(error("IID1,IID2,relationship\na,b,1\n", "g.csv"),
            "g.csv: expected a diagonal entry for every row, found none for row 1");
  EXPECT_EQ(error("IID1 IID2 KINSHIP\na b\n", "g.kin0"),
            "g.kin0:2: expected at least 3 cells, found 2");
  EXPECT_EQ(error("IID1 IID2 KINSHIP\na b .1\nb a .1\n", "g.kin0"),
            "g.kin0: expected every pair of rows once, found rows 1 and 2 twice");
  EXPECT_EQ(error("IID1 IID2 KINSHIP\na d .1\n", "g.kin0", {{"", "a"}, {"", "b"}}),
            "g.kin0:2: expected a person of the file of ids, found 'd'");
}

TEST(MatrixMarket, CoordinatesAndArraysAreRead) {
  const std::string start = "%%MatrixMarket matrix ";
  EXPECT_EQ(
      parsed(start + "coordinate real symmetric\n% by hand\n3 3 5\n1 1 1\n2 1 .5\n"
                     "2 2 1\n3 2 .25\n3 3 2\n",
             "g.mtx"),
      kMatrix);
  EXPECT_EQ(parsed(start + "coordinate real general\n3 3 7\n1 1 1\n1 2 .5\n2 1 .5\n"
                           "2 2 1\n2 3 .25\n3 2 .25\n3 3 2\n",
                   "g.mtx"),
            kMatrix);
  EXPECT_EQ(parsed(start + "array real symmetric\n3 3\n1\n.5\n0\n1\n.25\n2\n", "g.mtx"),
            kMatrix);
  EXPECT_EQ(parsed(start + "array integer general\n2 2\n1\n3\n4\n2\n", "g.mtx"),
            (Numbers{1, 4, 3, 2}));
  EXPECT_EQ(
      parsed(start + "coordinate pattern symmetric\n2 2 3\n1 1\n2 1\n2 2\n", "g.mtx"),
      (Numbers{1, 1, 1, 1}));
}

TEST(MatrixMarket, AnEntryWithoutItsMirrorImageIsAsymmetric) {
  auto file = parse_relationship(
      "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n2 1 .5\n2 2 1\n",
      "g.mtx", {{"", "a"}, {"", "b"}});
  EXPECT_EQ(to_dense(file), (Numbers{1, 0, .5, 1}));
  EXPECT_EQ(
      input_error_of([&] { make_symmetric(file); }),
      "g.mtx: expected a symmetric matrix, found 0.5 in row 2 ('b'), column 1, but "
      "0 in row 1 ('a'), column 2");
}

TEST(MatrixMarket, BadHeadersAndCountsAreRefused) {
  const std::string start = "%%MatrixMarket matrix coordinate real symmetric\n";
  EXPECT_EQ(
      error("%%MatrixMarket matrix coordinate complex general\n1 1 1\n", "g.mtx"),
      "g.mtx:1: expected %%MatrixMarket matrix, coordinate or array, real, integer "
      "or pattern, general or symmetric, found '%%MatrixMarket matrix coordinate "
      "complex general'");
  EXPECT_EQ(error(start, "g.mtx"), "g.mtx: expected a line of sizes, found none");
  EXPECT_EQ(error(start + "2 3 2\n", "g.mtx"),
            "g.mtx:2: expected a square matrix, found 2 x 3");
  EXPECT_EQ(error(start + "2 2 3\n1 1 1\n2 2 1\n", "g.mtx"),
            "g.mtx: expected 3 entries, found 2");
  EXPECT_EQ(error(start + "2 2 2\n1 1 1\n3 2 1\n", "g.mtx"),
            "g.mtx:4: expected a row from 1 to 2, found '3'");
  EXPECT_EQ(
      error(start + "2 2 1\n1 1 1\n", "g.mtx"),
      "g.mtx:2: expected a number of entries from 2 to 9223372036854775807, found "
      "'1'");
  EXPECT_EQ(error("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", "g.mtx"),
            "g.mtx: expected 4 values, found 3");
}

TEST(Text, IdsMayStandInAHeaderAndInColumns) {
  const Ids letters = {{"", "a"}, {"", "b"}};
  const Ids families = {{"f", "a"}, {"g", "b"}};
  const Numbers expected = {1, 0.5, 0.5, 2};
  const auto check = [&](const std::string& bytes, const Ids& ids) {
    const auto file = parse_relationship(bytes, "g.txt");
    EXPECT_EQ(file.dense, expected) << bytes;
    EXPECT_EQ(file.ids, ids) << bytes;
  };
  check("1 .5\n.5 2\n", {});
  check("1\n.5 2\n", {});
  check("a b\n1 .5\n.5 2\n", letters);
  check("a 1 .5\nb .5 2\n", letters);
  check("f a 1 .5\ng b .5 2\n", families);
  check("id,a,b\na,1,.5\nb,.5,2\n", letters);
  check("\"\",\"a\",\"b\"\n\"a\",1,.5\n\"b\",.5,2\n", letters);
  check("a b\na 1 .5\nb .5 2\n", letters);
  check("FID IID a b\nf a 1 .5\ng b .5 2\n", families);
  check("7 8\n7 1 .5\n8 .5 2\n", {{"", "7"}, {"", "8"}});
}

TEST(Text, TakesAnySeparator) {
  const Numbers expected = {1, 0.5, 0.5, 2};
  EXPECT_EQ(parsed("1 0.5\n0.5 2\n", "g.txt"), expected);
  EXPECT_EQ(parsed("1,0.5\r\n0.5,2\r\n\n", "g.txt"), expected);
  EXPECT_EQ(parsed("\t1\t0.5\n 0.5 , 2", "g.txt"), expected);
}

TEST(Text, OtherShapesAreRefused) {
  EXPECT_EQ(error("1 2 3\n4 5 6\n", "g.txt"),
            "g.txt: expected a square matrix, found 2 x 3");
  EXPECT_EQ(error("1 0\n0\n", "g.txt"),
            "g.txt:2: expected 2 numbers as in line 1, found 1");
  EXPECT_EQ(error("", "g.txt"), "g.txt: the file is empty");
}

TEST(Text, EntriesThatAreNoNumbersAreRefused) {
  EXPECT_EQ(error("1 x\n0 1\n", "g.txt"),
            "g.txt:1: column 2: expected a number, found 'x'");
  EXPECT_EQ(error("1 0\n0 nan\n", "g.txt"),
            "g.txt:2: column 2: expected a finite number, found 'nan'");
  EXPECT_EQ(error(std::string("1\0", 2), "g.txt"),
            "g.txt: not a file of text: found a NUL byte");
}

TEST(Text, HeadersMustAgreeWithTheColumn) {
  EXPECT_EQ(error("id a b\nb 1 0\na 0 1\n", "g.txt"),
            "g.txt:2: expected the id of column 1 of the header, 'a', found 'b'");
  EXPECT_EQ(error("a 1 0\na 0 1\n", "g.txt"),
            "g.txt: expected different ids, found 'a' both as id 1 and as id 2");
  EXPECT_EQ(error("1 0 0\na b 1 0\n", "g.txt"),
            "g.txt:2: expected 3 numbers as in line 1, found 4");
  EXPECT_EQ(error("1 0\n\n0 1\n", "g.txt"),
            "g.txt:2: expected numbers, found a blank line");
}

TEST(Npy, IdsStandInAFileBesideIt) {
  const TemporaryFolder folder;
  write_npy(folder.path("g.npy"), {3, 3}, kMatrix);
  EXPECT_TRUE(read_relationship(folder.path("g.npy")).ids.empty());
  folder.write("g.npy.id", kIdLines);
  EXPECT_EQ(read_relationship(folder.path("g.npy")).ids, kIds);
  const auto other = folder.write("other.txt", "#IID\nx\ny\nz\n");
  EXPECT_EQ(read_relationship(folder.path("g.npy"), {.ids = other}).ids,
            (Ids{{"", "x"}, {"", "y"}, {"", "z"}}));
  folder.write("g.npy.id", "f a\nf b\n");
  EXPECT_EQ(input_error_of([&] { read_relationship(folder.path("g.npy")); }),
            folder.path("g.npy.id") + ": expected 3 ids, one for each row of " +
                folder.path("g.npy") + ", found 2");
}

TEST(Npy, ArraysThatAreNoMatrixAreRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.path("g.npy");
  const auto refusal = [&] { return input_error_of([&] { read_relationship(path); }); };
  EXPECT_EQ(refusal(), path + ": cannot read (No such file or directory)");
  write_npy(path, {4}, Numbers{1, 0, 0, 1});
  EXPECT_EQ(refusal(),
            path + ": expected a square matrix, found an array of 1 dimensions");
  write_npy(path, {2, 2}, Numbers{1, 0, INFINITY, 1});
  EXPECT_EQ(refusal(),
            path + ": expected finite numbers, found inf in row 2, column 1");
}

std::string symmetry_error(const std::string& bytes) {
  auto file = parse_relationship(bytes, "g.txt");
  return input_error_of([&] { make_symmetric(file); });
}

TEST(MakeSymmetric, TheDiagonalMustBePositive) {
  EXPECT_EQ(symmetry_error("1 0\n0 0\n"),
            "g.txt: expected a positive diagonal, found 0 in row 2");
  EXPECT_EQ(symmetry_error("-1 0\n0 1\n"),
            "g.txt: expected a positive diagonal, found -1 in row 1");
}

TEST(MakeSymmetric, TheWorstAsymmetryIsNamed) {
  EXPECT_EQ(
      symmetry_error("1 0.5 0.1\n0.4 1 0.2\n0.3 0.2 1\n"),
      "g.txt: expected a symmetric matrix, found 0.3 in row 3, column 1, but 0.1 in "
      "row 1, column 3");
}

TEST(MakeSymmetric, SmallAsymmetriesAreAveraged) {
  auto file = parse_relationship("1 0.5000001\n0.4999999 1\n", "g.txt");
  make_symmetric(file);
  EXPECT_EQ(file.dense[1], file.dense[2]);
  EXPECT_NEAR(file.dense[1], 0.5, 1e-12);
  // Noise in an entry near 0 is judged by the size of the diagonal.
  auto noise = parse_relationship("1 1e-9\n3e-9 1\n", "g.txt");
  EXPECT_NO_THROW(make_symmetric(noise));
}

TEST(MakeSymmetric, ReachesEveryPairOfALargeMatrix) {
  constexpr std::int64_t kRows = 150;
  RelationshipFile file{
      .source = "g", .ids = {}, .rows = kRows, .dense = {}, .sparse = {}};
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t j = 0; j < kRows; ++j) {
      file.dense.push_back((i == j ? 2 : 0.1) + 1e-9 * static_cast<double>(i - j));
    }
  }
  make_symmetric(file);
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      ASSERT_EQ(file.dense[i * kRows + j], file.dense[j * kRows + i]);
      ASSERT_NEAR(file.dense[i * kRows + j], 0.1, 1e-12);
    }
  }
}

TEST(SampleIds, HeadersAndWidths) {
  const TemporaryFolder folder;
  const auto ids = [&](const std::string& bytes) {
    return read_sample_ids(folder.write("x.id", bytes));
  };
  const auto id_error = [&](const std::string& bytes) {
    const auto message = input_error_of([&] { ids(bytes); });
    return message.substr(message.find("x.id"));
  };
  EXPECT_EQ(ids("#FID\tIID\tSID\nf\ta\t1\n"), (Ids{{"f", "a"}}));
  EXPECT_EQ(ids("#IID\tSID\na\t1\n"), (Ids{{"", "a"}}));
  EXPECT_EQ(ids("f a 0 0 1 -9\n"), (Ids{{"f", "a"}}));
  EXPECT_EQ(ids("a\r\nb\r\n"), (Ids{{"", "a"}, {"", "b"}}));
  EXPECT_EQ(ids("f a\n0 a\n"), (Ids{{"f", "a"}, {"", "a"}}));
  EXPECT_EQ(id_error("f a\nb\n"), "x.id:2: expected 2 cells as in line 1, found 1");
  EXPECT_EQ(id_error("f a\nf b\nf a\n"),
            "x.id: expected different ids, found 'f a' both as id 1 and as id 3");
  EXPECT_EQ(id_error("\n"), "x.id: expected ids, found none");
  EXPECT_EQ(id_error("a\x01\n"), "x.id: expected ids of UTF-8 text, found 'a\\x01'");
}

TEST(Names, EndingsTellTheFormat) {
  using Format = RelationshipFormat;
  for (const auto& [name, format] : {std::pair{"a.npy", Format::npy},
                                     {"a.grm.bin", Format::grm_binary},
                                     {"a.grm.gz", Format::grm_list},
                                     {"a.grm", Format::grm_list},
                                     {"a.grm.sp", Format::grm_sparse},
                                     {"a.rel", Format::rel_text},
                                     {"a.rel.gz", Format::rel_text},
                                     {"a.rel.bin", Format::rel_binary},
                                     {"a.king", Format::king_text},
                                     {"a.king.bin", Format::king_binary},
                                     {"a.kin0", Format::pairs},
                                     {"a.mtx.gz", Format::matrix_market},
                                     {"a.fam", Format::pedigree},
                                     {"a.cXX.txt", Format::text},
                                     {"a", Format::text}}) {
    EXPECT_EQ(relationship_format(name), format) << name;
  }
  EXPECT_EQ(input_error_of([] { relationship_format("a.king.zst"); }),
            "a.king.zst: expected a plain or gzipped file, found zstd; unpack it with "
            "zstd -d");
  EXPECT_EQ(error("\x28\xb5\x2f\xfd", "a.txt"),
            "a.txt: expected text, plain or gzipped, found zstd data; unpack them with "
            "zstd -d");
}

}  // namespace
}  // namespace kinflow
