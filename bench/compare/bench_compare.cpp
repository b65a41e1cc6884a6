// Times measure() on request, so that bench_compare.py can interleave it with PyTorch in one run.
//
//   bench_compare EXPECTED ACTUAL DTYPE [THREADS]
//
// reads two raw files of packed elements, then measures once for each line of standard input and
// answers with one line of JSON: time_ns and the numbers. It ends with its input.
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "compare/metrics.h"

namespace {

using fuseproof::Json;
using fuseproof::Metrics;

Json to_json(const Metrics& metrics, std::int64_t time_ns) {
  return {{"time_ns", time_ns},        {"compared", metrics.compared},
          {"cosine", metrics.cosine},  {"rel_euclid", metrics.rel_euclid},
          {"kl", metrics.kl},          {"kl_literal", metrics.kl_literal},
          {"mae", metrics.mae},        {"rmse", metrics.rmse},
          {"max_abs", metrics.max_abs}};
}

int run(int argc, char** argv) {
  const auto dtype = argc >= 4 ? fuseproof::parse_dtype(argv[3]) : std::nullopt;
  if (!dtype) {
    throw fuseproof::Error(fuseproof::ErrorKind::kUsage,
                           "usage: bench_compare EXPECTED ACTUAL DTYPE [THREADS]");
  }
  const auto expected = fuseproof::real_file_system().map(argv[1]);
  const auto actual = fuseproof::real_file_system().map(argv[2]);
  const fuseproof::MeasureOptions options{.threads = argc > 4 ? std::stoi(argv[4]) : 1};
  for (std::string line; std::getline(std::cin, line);) {
    const auto begin = std::chrono::steady_clock::now();
    const Metrics metrics =
        measure({*dtype, expected->bytes()}, {*dtype, actual->bytes()}, options);
    const auto time = std::chrono::steady_clock::now() - begin;
    std::cout << to_json(metrics, std::chrono::nanoseconds(time).count()).dump() << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_compare: %s\n", error.what());
    return 2;
  }
}
