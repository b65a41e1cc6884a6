// A small constant tensor as the Python expression that makes it again, bit by bit but for the
// payloads of NaNs.
#pragma once

#include <span>
#include <string>

#include "tensor/layout.h"

namespace fuseproof {

// `storage` holds the layout's elements; the tensor is row-major. The device loses its index:
// "npu:3" → "npu".
std::string constant_literal(std::span<const std::byte> storage, const Layout& layout,
                             const std::string& device);

}  // namespace fuseproof
