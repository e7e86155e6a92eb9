// SPDX-License-Identifier: Apache-2.0
#include "sharding/edit.h"

#include "sharding/codec.h"
#include "support/model_builder.h"

#include <QtTest/QTest>

#include <google/protobuf/text_format.h>

#include <random>

using namespace shardwright;
using namespace shardwright::test;

namespace {

onnx::NodeDeviceConfigurationProto annotation(const std::string& text) {
    onnx::NodeDeviceConfigurationProto proto;
    [[maybe_unused]] const bool ok = google::protobuf::TextFormat::ParseFromString(text, &proto);
    assert(ok);
    return proto;
}

/// An unknown field 99 of a message, as a later version of the format might write.
template <class Message>
Message withUnknownField(Message message) {
    message.mutable_unknown_fields()->AddLengthDelimited(99, "later");
    return message;
}

/// Two MatMuls over two stages, some of it annotated.
ModelBuilder model() {
    auto first = annotation(
        "configuration_id: 'c' pipeline_stage: 0 sharding_spec { tensor_name: 'x' device: [0, 1] "
        "sharded_dim { axis: 0 simple_sharding { num_shards: 2 } } } "
        "sharding_spec { tensor_name: 'w' device: -5 "
        "index_to_device_group_map { key: -5 value: [1, 0] } }");
    *first.mutable_sharding_spec(0) = withUnknownField(first.sharding_spec(0));
    return ModelBuilder{}
        .irVersion(11)
        .configuration("c", 4)
        .configuration("other", 2)
        .metadata("shardwright.mesh.c", R"({"note":"kept","mesh":"pp=2,tp=2"})")
        .metadata("shardwright.empty", "")
        .metadata("author", "somebody")
        .input("x", {4, 8})
        .weight("w", {8, 8})
        .op("MatMul", {"x", "w"}, {"h"}, "mm1")
        .annotate(first)
        .annotate(withUnknownField(
            annotation("configuration_id: 'other' sharding_spec { tensor_name: 'h' device: 1 }")))
        .op("MatMul", {"h", "w"}, {"y"}, "mm2")
        .op("Relu", {"y"}, {"z"}, "relu")
        .output("z", {4, 8});
}

struct Opened {
    Document document = model().document();
    std::shared_ptr<const ShapeTable> shapes = ShapeTable::build(document.model, {});
    LayoutPool pool;

    NodeId node(const std::string& name) const { return nodeNamed(document.graph(), name); }
    const TensorInfo& info(const std::string& name) const {
        return shapes->of(valueNamed(document.graph(), name));
    }
    Configuration configuration() {
        auto found = findConfiguration(document, *shapes, "c", pool);
        assert(found);
        return *found;
    }
    std::shared_ptr<const NodeSpecs> specs(const std::string& name) {
        std::vector<Diagnostic> diagnostics;
        return decodeNode(document, node(name), *shapes, configuration(), pool, diagnostics);
    }
    const NodeAnnotation& annotationAt(const std::string& name) const {
        return *document.annotations.nodes[node(name).index()];
    }
    std::string bytes() const {
        auto result = document.toBytes();
        assert(result);
        return *result;
    }
};

}  // namespace

class TstEdit : public QObject {
    Q_OBJECT

private slots:
    void applyGivesTheInverse();
    void randomEditsUndoneGiveTheOriginalBytes();
    void aSpecIsReplacedAndTheOthersStay();
    void unknownFieldsAreKept();
    void aSecondSpecOfTheTensorGoes();
    void removingTheLastSpecRemovesTheConfigurationOfTheNode();
    void aConfigurationOfTheNodeWithAStageStays();
    void removingWhatIsNotThereIsNoEdit();
    void movingToAStageMovesTheSpecs();
    void leavingAStageSpreadsTheSpecsAgain();
    void aLayoutOfOtherDevicesStaysWhereItIs();
    void changingTheMeshKeepsWhatElseTheEntrySays();
    void aNewConfigurationIsDeclared();
    void stagesAreBoundAndUnbound();
    void strippingLeavesTheModelWithoutAnnotations();
    void editsAreJoinedInOrder();
};

void TstEdit::applyGivesTheInverse() {
    Opened opened;
    const std::string before = opened.bytes();
    const Layout layout({4, 8}, {{{4, 2}}, {}}, {{2}, {3}});
    const Edit edit =
        editSpec(opened.document, opened.node("mm2"), "c", "h", &layout, opened.info("h"));
    QCOMPARE(QString::fromStdString(edit.title), QString("Set the layout of 'h' at 'mm2'"));
    const Edit inverse = apply(opened.document.annotations, edit);
    QCOMPARE(inverse.title, edit.title);
    QVERIFY(opened.bytes() != before);
    const std::string after = opened.bytes();
    const Edit redo = apply(opened.document.annotations, inverse);
    QVERIFY(opened.bytes() == before);
    apply(opened.document.annotations, redo);
    QVERIFY(opened.bytes() == after);
}

void TstEdit::randomEditsUndoneGiveTheOriginalBytes() {
    Opened opened;
    const std::string before = opened.bytes();
    std::mt19937 random(23);
    const auto below = [&](std::size_t n) { return static_cast<int>(random() % n); };
    const std::vector<std::string> nodes{"mm1", "mm2", "relu"};
    for (int round = 0; round < 40; ++round) {
        std::vector<Edit> inverses;
        for (int i = 0; i < 12; ++i) {
            const NodeId node = opened.node(nodes[static_cast<std::size_t>(below(3))]);
            const NodeInfo& info = opened.document.graph().node(node);
            const std::string tensor = below(2) ? info.proto->input(0) : info.proto->output(0);
            const Layout layout = below(2)
                                      ? Layout::replicated({4, 8}, {below(4)})
                                      : Layout({4, 8}, {{}, {{8, 2}}}, {{below(4)}, {below(4)}});
            Edit edit;
            switch (below(7)) {
                case 0:
                case 1:
                    edit =
                        editSpec(opened.document, node, "c", tensor, &layout, opened.info(tensor));
                    break;
                case 2:
                    edit =
                        editSpec(opened.document, node, "c", tensor, nullptr, opened.info(tensor));
                    break;
                case 3:
                    edit = editStage(opened.document, node, opened.configuration(), below(3) - 1,
                                     *opened.shapes, opened.pool);
                    break;
                case 4:
                    edit = editConfiguration(opened.document, "c",
                                             *Mesh::parse(below(2) ? "pp=2,tp=2" : "a=4"));
                    break;
                case 5:
                    edit = editStageDevices(opened.document, "c", below(3),
                                            below(2) ? DeviceGroup{0, 3} : DeviceGroup{});
                    break;
                default:
                    edit.steps.push_back(SetMetadata{"shardwright.empty", below(2) ? "full" : ""});
                    break;
            }
            inverses.push_back(apply(opened.document.annotations, edit));
        }
        if (below(4) == 0)
            inverses.push_back(apply(opened.document.annotations, editStrip(opened.document)));
        const std::string after = opened.bytes();
        std::vector<Edit> redos;
        for (; !inverses.empty(); inverses.pop_back())
            redos.push_back(apply(opened.document.annotations, inverses.back()));
        QVERIFY(opened.bytes() == before);
        for (; !redos.empty(); redos.pop_back())
            inverses.push_back(apply(opened.document.annotations, redos.back()));
        QVERIFY(opened.bytes() == after);
        for (; !inverses.empty(); inverses.pop_back())
            apply(opened.document.annotations, inverses.back());
    }
    QVERIFY(opened.bytes() == before);
}

void TstEdit::aSpecIsReplacedAndTheOthersStay() {
    Opened opened;
    const std::string other = opened.annotationAt("mm1")[0].sharding_spec(1).SerializeAsString();
    const Layout layout = Layout::replicated({4, 8}, {2});
    apply(opened.document.annotations,
          editSpec(opened.document, opened.node("mm1"), "c", "x", &layout, opened.info("x")));
    const auto& entry = opened.annotationAt("mm1")[0];
    QCOMPARE(entry.sharding_spec_size(), 2);
    QCOMPARE(entry.sharding_spec(0).device(0), std::int64_t(2));
    QVERIFY(entry.sharding_spec(0).sharded_dim().empty());
    QVERIFY(entry.sharding_spec(1).SerializeAsString() == other);
}

void TstEdit::unknownFieldsAreKept() {
    Opened opened;
    const Layout layout = Layout::replicated({4, 8}, {2});
    apply(opened.document.annotations,
          editSpec(opened.document, opened.node("mm1"), "c", "x", &layout, opened.info("x")));
    QVERIFY(!opened.annotationAt("mm1")[0].sharding_spec(0).unknown_fields().empty());
    // The other configuration says nothing we know once its spec is gone, but its unknown field
    // stays.
    apply(opened.document.annotations,
          editSpec(opened.document, opened.node("mm1"), "other", "h", nullptr, opened.info("h")));
    QCOMPARE(opened.annotationAt("mm1").size(), std::size_t(2));
    QVERIFY(!opened.annotationAt("mm1")[1].unknown_fields().empty());
}

void TstEdit::aSecondSpecOfTheTensorGoes() {
    Opened opened;
    NodeAnnotation twice = opened.annotationAt("mm1");
    *twice[0].add_sharding_spec() = twice[0].sharding_spec(0);
    apply(opened.document.annotations,
          Edit{"",
               {SetNodeAnnotation{opened.node("mm1"),
                                  std::make_shared<const NodeAnnotation>(twice)}}});
    const Layout layout = Layout::replicated({4, 8}, {2});
    apply(opened.document.annotations,
          editSpec(opened.document, opened.node("mm1"), "c", "x", &layout, opened.info("x")));
    QCOMPARE(opened.annotationAt("mm1")[0].sharding_spec_size(), 2);
}

void TstEdit::removingTheLastSpecRemovesTheConfigurationOfTheNode() {
    Opened opened;
    const Layout layout = Layout::replicated({4, 8}, {2});
    apply(opened.document.annotations,
          editSpec(opened.document, opened.node("mm2"), "c", "h", &layout, opened.info("h")));
    QCOMPARE(opened.annotationAt("mm2").size(), std::size_t(1));
    apply(opened.document.annotations,
          editSpec(opened.document, opened.node("mm2"), "c", "h", nullptr, opened.info("h")));
    QVERIFY(!opened.document.annotations.nodes[opened.node("mm2").index()]);
    apply(opened.document.annotations,
          editStage(opened.document, opened.node("mm2"), opened.configuration(), 1, *opened.shapes,
                    opened.pool));
    QCOMPARE(opened.annotationAt("mm2")[0].pipeline_stage(), 1);
    apply(opened.document.annotations,
          editStage(opened.document, opened.node("mm2"), opened.configuration(), -1, *opened.shapes,
                    opened.pool));
    QVERIFY(!opened.document.annotations.nodes[opened.node("mm2").index()]);
}

void TstEdit::aConfigurationOfTheNodeWithAStageStays() {
    Opened opened;
    for (const char* tensor : {"x", "w"})
        apply(opened.document.annotations, editSpec(opened.document, opened.node("mm1"), "c",
                                                    tensor, nullptr, opened.info(tensor)));
    QVERIFY(opened.annotationAt("mm1")[0].has_pipeline_stage());
    QVERIFY(opened.annotationAt("mm1")[0].sharding_spec().empty());
}

void TstEdit::removingWhatIsNotThereIsNoEdit() {
    Opened opened;
    QVERIFY(editSpec(opened.document, opened.node("relu"), "c", "y", nullptr, opened.info("y"))
                .empty());
    QVERIFY(editStage(opened.document, opened.node("relu"), opened.configuration(), -1,
                      *opened.shapes, opened.pool)
                .empty());
}

void TstEdit::movingToAStageMovesTheSpecs() {
    Opened opened;
    // Stage 0 is devices 0, 1 of the axis pp; x is split over tp, w is on both.
    apply(opened.document.annotations,
          editStage(opened.document, opened.node("mm1"), opened.configuration(), 1, *opened.shapes,
                    opened.pool));
    const auto specs = opened.specs("mm1");
    QCOMPARE(specs->stage, 1);
    QVERIFY(*specs->find("x")->layout == Layout({4, 8}, {{{4, 2}}, {}}, {{2}, {3}}));
    QVERIFY(*specs->find("w")->layout == Layout::replicated({8, 8}, {2, 3}));
}

void TstEdit::leavingAStageSpreadsTheSpecsAgain() {
    Opened opened;
    apply(opened.document.annotations,
          editStage(opened.document, opened.node("mm1"), opened.configuration(), -1, *opened.shapes,
                    opened.pool));
    const auto specs = opened.specs("mm1");
    QCOMPARE(specs->stage, -1);
    QVERIFY(*specs->find("x")->layout == Layout({4, 8}, {{{4, 2}}, {}}, {{0, 2}, {1, 3}}));
    QVERIFY(*specs->find("w")->layout == Layout::replicated({8, 8}, {0, 1, 2, 3}));
}

void TstEdit::aLayoutOfOtherDevicesStaysWhereItIs() {
    Opened opened;
    const Layout layout = Layout::replicated({4, 8}, {3});
    apply(opened.document.annotations,
          editSpec(opened.document, opened.node("mm2"), "c", "h", &layout, opened.info("h")));
    apply(opened.document.annotations,
          editStage(opened.document, opened.node("mm2"), opened.configuration(), 1, *opened.shapes,
                    opened.pool));
    QVERIFY(*opened.specs("mm2")->find("h")->layout == layout);
}

void TstEdit::changingTheMeshKeepsWhatElseTheEntrySays() {
    Opened opened;
    apply(opened.document.annotations, editStageDevices(opened.document, "c", 1, {2, 3}));
    apply(opened.document.annotations,
          editConfiguration(opened.document, "c", *Mesh::parse("a=2,b=2")));
    QCOMPARE(QString::fromStdString(opened.document.annotations.metadata.at("shardwright.mesh.c")),
             QString(R"({"note":"kept","mesh":"a=2,b=2","stages":{"1":"2,3"}})"));
    // A smaller configuration has no devices 2 and 3.
    apply(opened.document.annotations,
          editConfiguration(opened.document, "c", *Mesh::parse("a=2")));
    QCOMPARE(QString::fromStdString(opened.document.annotations.metadata.at("shardwright.mesh.c")),
             QString(R"({"note":"kept","mesh":"a=2"})"));
    QCOMPARE(opened.document.annotations.configurations[0].num_devices(), 2);
}

void TstEdit::aNewConfigurationIsDeclared() {
    Opened opened;
    const Edit edit = editConfiguration(opened.document, "new", *Mesh::parse("dp=2,tp=4"));
    QCOMPARE(QString::fromStdString(edit.title), QString("Declare configuration 'new'"));
    apply(opened.document.annotations, edit);
    QCOMPARE(opened.document.annotations.configurations.size(), std::size_t(3));
    QCOMPARE(opened.document.annotations.configurations[2].num_devices(), 8);
    const auto found = findConfiguration(opened.document, *opened.shapes, "new", opened.pool);
    QCOMPARE(found->mesh.text(), std::string("dp=2,tp=4"));
}

void TstEdit::stagesAreBoundAndUnbound() {
    Opened opened;
    apply(opened.document.annotations, editStageDevices(opened.document, "other", 0, {0}));
    apply(opened.document.annotations, editStageDevices(opened.document, "other", 2, {0, 1}));
    const auto found = findConfiguration(opened.document, *opened.shapes, "other", opened.pool);
    QCOMPARE(found->stageDevices(2), (DeviceGroup{0, 1}));
    apply(opened.document.annotations, editStageDevices(opened.document, "other", 0, {}));
    apply(opened.document.annotations, editStageDevices(opened.document, "other", 2, {}));
    QVERIFY(!opened.document.annotations.metadata.contains("shardwright.mesh.other"));
}

void TstEdit::strippingLeavesTheModelWithoutAnnotations() {
    Opened opened;
    apply(opened.document.annotations, editStrip(opened.document));
    const onnx::ModelProto proto = opened.document.toProto();
    QCOMPARE(proto.configuration_size(), 0);
    QCOMPARE(proto.metadata_props_size(), 1);
    QCOMPARE(proto.metadata_props(0).key(), std::string("author"));
    for (const auto& node : proto.graph().node())
        QVERIFY(node.device_configurations().empty());
}

void TstEdit::editsAreJoinedInOrder() {
    Opened opened;
    const Layout first = Layout::replicated({4, 8}, {1}), second = Layout::replicated({4, 8}, {2});
    const Edit joined = joinEdits(
        "both",
        {editSpec(opened.document, opened.node("mm2"), "c", "h", &first, opened.info("h")),
         editSpec(opened.document, opened.node("mm2"), "c", "h", &second, opened.info("h"))});
    const Edit inverse = apply(opened.document.annotations, joined);
    QVERIFY(*opened.specs("mm2")->find("h")->layout == second);
    apply(opened.document.annotations, inverse);
    QVERIFY(!opened.document.annotations.nodes[opened.node("mm2").index()]);
}

QTEST_GUILESS_MAIN(TstEdit)
#include "tst_edit.moc"
