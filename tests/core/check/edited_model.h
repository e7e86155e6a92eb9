// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/generated_transformer.h"
#include "support/random_edits.h"
#include "support/shared_files.h"

#include <QTest>

#include <optional>
#include <string>

namespace shardwright::test {

inline Document smallTransformer(int layers) {
    TransformerSizes sizes;
    sizes.layers = layers;
    sizes.external = true;
    return transformer(sizes).document();
}

/// Rows "model", "mesh", "strict": what random edits are made to, with what editedModel() opens.
inline void addEditedModels() {
    QTest::addColumn<QString>("model");
    QTest::addColumn<QString>("mesh");
    QTest::addColumn<bool>("strict");
    for (const bool strict : {false, true})
        for (const char* model : {"transformer", "body", "bert_4l_dynamo"})
            for (const char* mesh : {"dp=2,tp=2", "pp=2,tp=2"})
                QTest::addRow("%s, %s%s", model, mesh, strict ? ", strict" : "")
                    << model << mesh << strict;
}

/// Nothing where the shared models are not here.
inline std::optional<Document> editedModel(const QString& model) {
    if (model == "transformer")
        return smallTransformer(2);
    if (model == "body")
        return modelWithBody().document();
    const auto path = sharedFile("models/" + model.toStdString() + ".onnx");
    if (!path)
        return std::nullopt;
    return Document::open(*path).value();
}

}  // namespace shardwright::test
