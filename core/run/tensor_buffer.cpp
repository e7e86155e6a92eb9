// SPDX-License-Identifier: Apache-2.0
#include "run/tensor_buffer.h"

#include "model/tensor_bytes.h"

#include <cstring>

namespace shardwright {

Result<Buffer> tensorBuffer(const onnx::TensorProto& tensor, const std::filesystem::path& folder,
                            StringPool& strings) {
    const std::vector<std::int64_t> dims(tensor.dims().begin(), tensor.dims().end());
    if (isString(tensor.data_type())) {
        if (const auto count = elementCount(tensor); !count || *count != tensor.string_data_size())
            return count ? Error{"its data does not fit its shape", {}} : count.error();
        return strings.buffer({tensor.string_data().begin(), tensor.string_data().end()}, dims);
    }
    auto bytes = tensorBytes(tensor, folder);
    if (!bytes)
        return bytes.error();
    auto buffer = Buffer::host(tensor.data_type(), dims);
    if (!buffer)
        return buffer;
    if (buffer->bytes() != bytes->size())
        return Error{"its data does not fit its shape", {}};
    if (!bytes->empty())
        std::memcpy(buffer->data(), bytes->data(), bytes->size());
    return buffer;
}

}  // namespace shardwright
