// SPDX-License-Identifier: Apache-2.0
#include "rules/examples.h"

#include <onnx/defs/parser.h>
#include <onnx/defs/schema.h>

#include <algorithm>

namespace shardwright {

const std::vector<OperatorExample>& operatorExamples() {
    static const std::vector<OperatorExample> kExamples = [] {
        std::vector<OperatorExample> all = onnxExamples();
        for (auto* rows : {machineLearningExamples, contribExamples})
            for (OperatorExample& example : rows())
                all.push_back(std::move(example));
        return all;
    }();
    return kExamples;
}

const OperatorExample* findExample(std::string_view domain, std::string_view op) {
    const auto& all = operatorExamples();
    const auto at = std::find_if(all.begin(), all.end(), [&](const OperatorExample& example) {
        return example.domain == domain && example.op == op;
    });
    return at == all.end() ? nullptr : &*at;
}

int newestOpset(const std::string& domain) {
    const auto& versions = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
    const auto at = versions.find(domain);
    return at == versions.end() ? 1 : at->second.second;
}

Result<std::shared_ptr<const Model>> exampleModel(const OperatorExample& example) {
    const int opset = example.opset > 0 ? example.opset : newestOpset(example.domain);
    std::string imports = "\"" + example.domain + "\" : " + std::to_string(opset);
    if (!example.domain.empty())
        imports += ", \"\" : " + std::to_string(newestOpset(""));
    const std::string text =
        "<ir_version: 10, opset_import: [" + imports + "]>\nexample " + example.graph;
    onnx::ModelProto proto;
    onnx::OnnxParser parser(text);
    const auto status = parser.Parse(proto);
    if (!status.IsOK())
        return Error{status.ErrorMessage(), example.op};
    if (!parser.EndOfInput())
        return Error{"there is more than one graph", example.op};
    return Model::fromBytes(proto.SerializeAsString());
}

}  // namespace shardwright
