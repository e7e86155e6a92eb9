// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli_process.h"

#include "support/generated_transformer.h"

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QString>

#include <random>

namespace shardwright::test {

/// What runs of a generated transformer took, in bytes.
struct MemoryRun {
    QString problem;         ///< Empty: all is well.
    qint64 weights = 0;      ///< Of the model.
    qint64 activations = 0;  ///< As predicted, of all devices.
    qint64 empty = 0;        ///< A worker that ran next to nothing.
    qint64 peak = 0;         ///< The worker that ran the model.
    qint64 predicted = 0;
    double growth() const {
        return static_cast<double>(peak - empty) / static_cast<double>(weights + activations);
    }
};

/// Writes the weights, all different (ONNX Runtime joins equal ones), into `weights.bin`, or with
/// `inside` into the model. Returns their bytes; -1: no room.
inline qint64 writeWeights(onnx::ModelProto& model, const QString& folder, bool inside) {
    QFile file(folder + "/weights.bin");
    if (!file.open(QIODevice::WriteOnly))
        return -1;
    std::mt19937_64 random(1);
    std::string block;
    qint64 offset = 0;
    for (onnx::TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) {
        if (tensor.data_location() != onnx::TensorProto::EXTERNAL)
            continue;
        qint64 count = 1;
        for (const std::int64_t dim : tensor.dims())
            count *= dim;
        block.resize(static_cast<std::size_t>(count) * sizeof(float));
        auto* values = reinterpret_cast<float*>(block.data());
        std::uint64_t bits = 0;
        for (qint64 i = 0; i < count; ++i) {
            bits = i % 4 == 0 ? random() : bits >> 16;
            values[i] = (static_cast<float>(bits & 0xffff) / 65536.0F - 0.5F) / 16.0F;
        }
        if (inside) {
            tensor.clear_data_location();
            tensor.clear_external_data();
            tensor.set_raw_data(block);
        } else {
            tensor.clear_external_data();
            for (const auto& [key, value] :
                 {std::pair<const char*, std::string>("location", "weights.bin"),
                  {"offset", std::to_string(offset)}}) {
                auto* entry = tensor.add_external_data();
                entry->set_key(key);
                entry->set_value(value);
            }
            if (file.write(block.data(), static_cast<qint64>(block.size())) < 0)
                return -1;
        }
        offset += static_cast<qint64>(block.size());
    }
    return offset;
}

/// Runs a model spread over axis `tp` once and reads the report's `memory`.
inline MemoryRun measureMemory(const QString& folder, TransformerSizes sizes, int devices,
                               bool inside) {
    MemoryRun run;
    const QString source = folder + "/model.onnx", annotated = folder + "/annotated.onnx";
    sizes.external = true;
    const auto json = [&](const QString& model) {
        const CliResult result = runCli({"run", model, "--format", "json"}, 600000);
        if (result.exitCode != 0)
            run.problem = "run: " + result.err;
        return result.json();
    };
    {
        onnx::ModelProto model = transformer(sizes).build();
        run.weights = writeWeights(model, folder, inside);
        QFile file(source);
        if (run.weights < 0 || !file.open(QIODevice::WriteOnly) ||
            file.write(QByteArray::fromStdString(model.SerializeAsString())) < 0) {
            run.problem = "the model cannot be written";
            return run;
        }
    }
    QStringList arguments{"annotate", source,   "-o",
                          annotated,  "--mesh", QString("tp=%1").arg(devices)};
    for (const std::string& shard : megatronShards("tp"))
        arguments << "--shard" << QString::fromStdString(shard);
    arguments << "--shard"
              << "#in1@MatMul!*lm_head*:1=tp";
    if (const CliResult result = runCli(arguments, 600000); result.exitCode != 0)
        run.problem = "annotate: " + result.err;
    const QString small =
        qEnvironmentVariable("SHARDWRIGHT_SOURCE") + "/resources/examples/mlp.onnx";
    run.empty = json(small)["memory"].toObject()["peak_bytes"].toInteger();
    const QJsonObject report = json(annotated);
    run.peak = report["memory"].toObject()["peak_bytes"].toInteger();
    run.predicted = report["memory"].toObject()["predicted_bytes"].toInteger();
    for (const QJsonValue& device : report["devices"].toArray())
        run.activations += device.toObject()["predicted_bytes"].toInteger();
    run.activations = std::max<qint64>(0, run.activations - run.weights);
    return run;
}

}  // namespace shardwright::test
