// SPDX-License-Identifier: Apache-2.0
// libFuzzer's hooks for harnesses whose input is a model: two of three changes are made to the
// message, the others to the bytes.
#include "harness/message_mutator.h"
#include "model/model_parser.h"

#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t maxSize);

namespace {

using namespace shardwright;

std::string_view viewOf(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

bool parse(std::string_view bytes, onnx::ModelProto& proto) {
    static const google::protobuf::LogSilencer silent;
    return bool(parseModel(bytes, guessFormat(bytes), proto));
}

/// 0: it does not fit, or is no message.
std::size_t write(const onnx::ModelProto& proto, Model::Format format, std::uint8_t* data,
                  std::size_t maxSize) {
    std::string bytes;
    if (format == Model::Format::Text)
        google::protobuf::TextFormat::PrintToString(proto, &bytes);
    else
        bytes = proto.SerializePartialAsString();
    if (bytes.size() > maxSize)
        return 0;
    std::copy(bytes.begin(), bytes.end(), data);
    return bytes.size();
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t maxSize, unsigned seed) {
    const std::string_view bytes = viewOf(data, size);
    onnx::ModelProto proto;
    if (seed % 3 != 0 && parse(bytes, proto)) {
        const Model::Format format = guessFormat(bytes);
        fuzz::MessageMutator(seed).mutate(proto, nullptr);
        if (const std::size_t written = write(proto, format, data, maxSize))
            return written;
    }
    return LLVMFuzzerMutate(data, size, maxSize);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* data1, std::size_t size1,
                                                 const std::uint8_t* data2, std::size_t size2,
                                                 std::uint8_t* out, std::size_t maxSize,
                                                 unsigned seed) {
    onnx::ModelProto first, second;
    const std::string_view bytes = viewOf(data1, size1);
    if (parse(bytes, first) && parse(viewOf(data2, size2), second)) {
        fuzz::MessageMutator(seed).mutate(first, &second);
        if (const std::size_t written = write(first, guessFormat(bytes), out, maxSize))
            return written;
    }
    const std::size_t size = std::min(size1, maxSize);
    std::copy_n(data1, size, out);
    return size;
}
