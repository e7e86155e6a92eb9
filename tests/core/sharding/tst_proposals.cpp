// SPDX-License-Identifier: Apache-2.0
//
// The examples of ONNX proposals 0006 (sharding as a split and as a broadcast, on the tensor [[1,
// 2], [3, 4]]) and 0007 (composing two broadcast axes): the right elements on the right devices,
// and the same meaning written back.

#include "sharding/codec.h"
#include "support/model_builder.h"

#include <QtTest/QTest>

#include <google/protobuf/text_format.h>

using namespace shardwright;
using namespace shardwright::test;

namespace {

/// The elements 1, 2, ... of a tensor that a device holds, row by row: "[[1],[3]]".
QString held(const Layout& layout, DeviceId device) {
    const auto boxes = layout.holding(device);
    if (boxes.size() != 1 || layout.shape().size() != 2)
        return boxes.empty() ? "nothing" : "not one box";
    QStringList rows;
    for (std::int64_t row = 0; row < layout.shape()[0]; ++row) {
        QStringList elements;
        for (std::int64_t column = 0; column < layout.shape()[1]; ++column) {
            const Box element{{IndexSet(row, row + 1), IndexSet(column, column + 1)}};
            if (boxes[0].contains(element))
                elements << QString::number(row * layout.shape()[1] + column + 1);
        }
        if (!elements.isEmpty())
            rows << "[" + elements.join(",") + "]";
    }
    return "[" + rows.join(",") + "]";
}

LayoutRef decodeSpec(const std::string& text, LayoutPool& pool,
                     std::vector<Diagnostic>& diagnostics) {
    onnx::NodeDeviceConfigurationProto annotation;
    google::protobuf::TextFormat::ParseFromString(
        "configuration_id: 'c' sharding_spec { tensor_name: 'x' " + text + "}", &annotation);
    const Document document = ModelBuilder{}
                                  .irVersion(11)
                                  .configuration("c", 4)
                                  .input("x", {2, 2})
                                  .op("Relu", {"x"}, {"y"}, "n")
                                  .annotate(annotation)
                                  .output("y", {2, 2})
                                  .document();
    const auto shapes = ShapeTable::build(document.model, {});
    const auto configuration = findConfiguration(document, *shapes, "c", pool);
    const auto specs = decodeNode(document, nodeNamed(document.graph(), "n"), *shapes,
                                  *configuration, pool, diagnostics);
    return specs && specs->specs.size() == 1 ? specs->specs[0].layout : nullptr;
}

std::string splitOn(int axis) {
    return "sharded_dim { axis: " + std::to_string(axis) + " simple_sharding { num_shards: 2 } } ";
}

}  // namespace

class TstProposals : public QObject {
    Q_OBJECT

private slots:
    void eachDeviceGetsTheElementsThatTheProposalSays_data();
    void eachDeviceGetsTheElementsThatTheProposalSays();
    void twoFormsOfOneMeaningAreEqual();
};

void TstProposals::eachDeviceGetsTheElementsThatTheProposalSays_data() {
    QTest::addColumn<QString>("spec");
    QTest::addColumn<QStringList>("elements");
    const auto row = [](const char* name, const std::string& spec, const QStringList& elements) {
        QTest::addRow("%s", name) << QString::fromStdString(spec) << elements;
    };
    const std::string groups = "index_to_device_group_map { key: -1 value: [0, 1] } "
                               "index_to_device_group_map { key: -2 value: [2, 3] } ";
    row("split on axis 0", "device: [0, 1] " + splitOn(0),
        {"[[1,2]]", "[[3,4]]", "nothing", "nothing"});
    row("split on axis 1", "device: [0, 1] " + splitOn(1),
        {"[[1],[3]]", "[[2],[4]]", "nothing", "nothing"});
    row("split on both axes", "device: [0, 1, 2, 3] " + splitOn(0) + splitOn(1),
        {"[[1]]", "[[2]]", "[[3]]", "[[4]]"});
    row("replicated", "device: -1 index_to_device_group_map { key: -1 value: [0, 1] }",
        {"[[1,2],[3,4]]", "[[1,2],[3,4]]", "nothing", "nothing"});
    // The proposal prints [[2,3]] for devices 2 and 3; the second half of [[1,2],[3,4]] is [[3,4]].
    row("split and replicated", "device: [-1, -2] " + groups + splitOn(0),
        {"[[1,2]]", "[[1,2]]", "[[3,4]]", "[[3,4]]"});
    row("0007: output of two broadcast axes", "device: [0, 1, 2, 3] " + splitOn(0) + splitOn(1),
        {"[[1]]", "[[2]]", "[[3]]", "[[4]]"});
    row("0007: second input",
        "device: [-1, -2] index_to_device_group_map { key: -1 value: [0, 2] } "
        "index_to_device_group_map { key: -2 value: [1, 3] } " +
            splitOn(1),
        {"[[1],[3]]", "[[2],[4]]", "[[1],[3]]", "[[2],[4]]"});
}

void TstProposals::eachDeviceGetsTheElementsThatTheProposalSays() {
    QFETCH(QString, spec);
    QFETCH(QStringList, elements);
    LayoutPool pool;
    std::vector<Diagnostic> diagnostics;
    const LayoutRef layout = decodeSpec(spec.toStdString(), pool, diagnostics);
    QVERIFY(layout);
    QVERIFY2(diagnostics.empty(), diagnostics.empty() ? "" : diagnostics[0].message.c_str());
    for (int device = 0; device < 4; ++device)
        QCOMPARE(held(*layout, device), elements[device]);

    TensorInfo info;
    info.hasRank = true;
    info.dims = {2, 2};
    info.symbolic = {{2, {}}, {2, {}}};
    onnx::ShardingSpecProto written = encodeSpec(*layout, "x", info);
    written.clear_tensor_name();
    std::string text;
    google::protobuf::TextFormat::PrintToString(written, &text);
    QCOMPARE(decodeSpec(text, pool, diagnostics).get(), layout.get());
    QVERIFY(diagnostics.empty());
}

void TstProposals::twoFormsOfOneMeaningAreEqual() {
    LayoutPool pool;
    std::vector<Diagnostic> diagnostics;
    const LayoutRef group = decodeSpec(
        "device: -1 index_to_device_group_map { key: -1 value: [1, 0] }", pool, diagnostics);
    const LayoutRef list = decodeSpec("device: [0, 1]", pool, diagnostics);
    const LayoutRef repeated = decodeSpec(
        "device: [-1, -1] index_to_device_group_map { key: -1 value: [0, 1] } " + splitOn(0), pool,
        diagnostics);
    QCOMPARE(list.get(), group.get());
    QCOMPARE(repeated.get(), group.get());
    const LayoutRef listed =
        decodeSpec("device: [0, 2, 1, 3] " + splitOn(1) + splitOn(0), pool, diagnostics);
    QCOMPARE(
        listed.get(),
        decodeSpec("device: [0, 1, 2, 3] " + splitOn(0) + splitOn(1), pool, diagnostics).get());
}

QTEST_GUILESS_MAIN(TstProposals)
#include "tst_proposals.moc"
