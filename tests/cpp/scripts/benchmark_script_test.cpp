#include "scripts/benchmark_script.h"

#include <doctest/doctest.h>

namespace fuseproof {
namespace {

// As of relu(x) over a transposed float16[2, 3], on a device.
BenchmarkSpec relu_spec(const std::string& device) {
  BenchmarkSpec spec;
  spec.kernel = "cpp_fused_relu_0";
  spec.site = "000_cpp_fused_relu_0";
  spec.device = device;
  spec.artifacts = {{"source", "line 1\nline 2\n"}};
  const TensorSpec x{.name = "x", .layout = {DType::kFloat16, {2, 3}, {1, 2}, 4}};
  const ValueRange range{std::int64_t{0}, 2.5};
  spec.profile_buffers = {{.tensor = {.name = "in_ptr0", .layout = x.layout, .range = range},
                           .role = ArgumentRole::kInOut}};
  spec.call_arguments = {{.buffer = 0, .number = {}}, {.buffer = {}, .number = std::int64_t{7}}};
  spec.precision = PrecisionContext{.eager_fn_code = "def eager_fn(inputs):\n    return inputs\n",
                                    .fx_input_meta = {x},
                                    .output_names = {"relu"}};
  return spec;
}

bool holds(const BenchmarkSpec& spec, const std::string& text) {
  return benchmark_script(spec).find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("a script is for the device that the graph was captured on, without its index") {
  CHECK(holds(relu_spec("cpu"), "_device = \"cpu\"\n"));
  CHECK(holds(relu_spec("cpu"), "options={\"cpu_backend\": \"cpp\"}"));
  CHECK(holds(relu_spec("cuda:1"), "_device = \"cuda\"\n"));
  CHECK(holds(relu_spec("cuda:1"), "options={}"));
  CHECK(holds(relu_spec("npu:3"), "_device = \"npu\"\n"));
  CHECK(holds(relu_spec("npu:3"), "options={\"npu_backend\": \"ascendc\"}"));
}

TEST_CASE("only a script for an NPU asks for its backend and its package") {
  const std::string backend = "os.environ[\"TORCHINDUCTOR_NPU_BACKEND\"] = \"ascendc\"\n";
  CHECK(holds(relu_spec("npu:3"), backend));
  CHECK(holds(relu_spec("npu:3"), "import torch_npu"));
  for (const char* device : {"cpu", "cuda:1"}) {
    CHECK_FALSE(holds(relu_spec(device), "torch_npu"));
    CHECK_FALSE(holds(relu_spec(device), "NPU"));
  }
  // torch reads it while it is imported.
  const std::string script = benchmark_script(relu_spec("npu:3"));
  CHECK(script.find(backend) < script.find("import torch  #"));
}

TEST_CASE("tensors are named by their layout, role, storage and range") {
  CHECK(holds(relu_spec("cpu"),
              "_fx_inputs = [script.TensorSpec(\"x\", (2, 3), (1, 2), torch.float16, offset=4)]"));
  CHECK(holds(relu_spec("cpu"),
              "\"in_ptr0\", (2, 3), (1, 2), torch.float16, offset=4, low=0, "
              "high=2.5, role=\"inout\""));
  CHECK(holds(relu_spec("cpu"), "    7,\n]"));
}

TEST_CASE("tensors that share memory say so, and no others") {
  BenchmarkSpec spec = relu_spec("cpu");
  std::vector<TensorSpec>& inputs = spec.precision->fx_input_meta;
  inputs[0].storage = 3;
  CHECK_FALSE(holds(spec, "storage="));
  inputs.push_back(inputs[0]);
  inputs.push_back(inputs[0]);
  inputs.back().storage = 4;
  const std::string script = benchmark_script(spec);
  CHECK(script.find("offset=4, storage=3)") != script.rfind("offset=4, storage=3)"));
  CHECK(script.find("storage=4") == std::string::npos);
}

TEST_CASE("sizes that are free are compiled as such, and their hints are said") {
  BenchmarkSpec spec = relu_spec("cpu");
  CHECK(holds(spec, "dynamic=False"));
  CHECK_FALSE(holds(spec, "_symbol_hints"));
  spec.is_static = false;
  spec.symbol_hints = {{"s0", 8}};
  CHECK(holds(spec, "dynamic=True"));
  CHECK(holds(spec, "_symbol_hints = {\"s0\": 8}"));
}

TEST_CASE("the variables of the process that generated the kernel are set, if they are not yet") {
  BenchmarkSpec spec = relu_spec("cpu");
  CHECK(holds(spec, "_bench_env = {}\n"));
  spec.environment = {{"TORCHINDUCTOR_MAX_AUTOTUNE", "1"}};
  CHECK(holds(spec, "_bench_env = {\"TORCHINDUCTOR_MAX_AUTOTUNE\": \"1\"}\n"));
}

TEST_CASE("without a fragment there is no function, and the reason") {
  BenchmarkSpec spec = relu_spec("cpu");
  spec.precision.reset();
  spec.no_precision_because = "no origin of \"\"\" that\nfits";
  CHECK_FALSE(holds(spec, "eager_fn"));
  CHECK(holds(spec, "  no origin of \"\"\\\" that fits\n"));
  CHECK(holds(spec, "return script.nothing_to_check(\"no origin of \\\"\\\"\\\" that\\nfits\")"));
  CHECK(holds(spec, "artifacts = {"));
}

}  // namespace fuseproof
