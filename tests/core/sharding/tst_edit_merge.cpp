// SPDX-License-Identifier: Apache-2.0
// Fixes of several diagnostics are all made for the document as it is; taken together each does
// what it says.
#include "sharding/codec.h"
#include "sharding/edit.h"
#include "support/model_builder.h"

#include <QtTest/QTest>

#include <google/protobuf/text_format.h>

using namespace shardwright;
using namespace shardwright::test;

namespace {

onnx::NodeDeviceConfigurationProto annotation(const std::string& text) {
    onnx::NodeDeviceConfigurationProto proto;
    [[maybe_unused]] const bool ok = google::protobuf::TextFormat::ParseFromString(text, &proto);
    assert(ok);
    return proto;
}

ModelBuilder model() {
    return ModelBuilder{}
        .irVersion(11)
        .configuration("c", 4)
        .input("x", {4, 8})
        .weight("w", {8, 8})
        .op("MatMul", {"x", "w"}, {"y"}, "mm")
        .annotate(
            annotation("configuration_id: 'c' pipeline_stage: -1 "
                       "sharding_spec { tensor_name: 'x' device: 0 sharded_dim { axis: 0 } } "
                       "sharding_spec { tensor_name: 'w' device: 0 sharded_dim { axis: 1 } }"))
        .output("y", {4, 8});
}

struct Opened {
    Document document;
    std::shared_ptr<const ShapeTable> shapes;
    LayoutPool pool;

    explicit Opened(ModelBuilder builder)
        : document(builder.document()), shapes(ShapeTable::build(document.model, {})) {}

    std::vector<Diagnostic> diagnostics() {
        const auto names = configurationNames(document.annotations);
        auto configuration = findConfiguration(document, *shapes, names.at(0), pool);
        assert(configuration);
        return decodeAnnotations(document, *shapes, *configuration, pool).diagnostics;
    }
    /// The first fix of each diagnostic.
    std::vector<Edit> fixes() {
        std::vector<Edit> edits;
        for (const Diagnostic& diagnostic : diagnostics())
            if (!diagnostic.fixes.empty())
                edits.push_back(diagnostic.fixes.front().edit);
        return edits;
    }
    const NodeAnnotation& annotationOf(const std::string& node) const {
        return *document.annotations.nodes[nodeNamed(document.graph(), node).index()];
    }
};

Edit specEdit(const Opened& opened, const std::string& tensor, const Layout* layout) {
    return editSpec(opened.document, nodeNamed(opened.document.graph(), "mm"), "c", tensor, layout,
                    opened.shapes->of(valueNamed(opened.document.graph(), tensor)));
}

}  // namespace

class TstEditMerge : public QObject {
    Q_OBJECT

private slots:
    void fixesOfOneNodeAllCount() {
        Opened opened(model());
        const auto fixes = opened.fixes();
        QCOMPARE(fixes.size(), 3U);  // Two bare dimensions and a negative stage.
        const std::string before = *opened.document.toBytes();
        const Edit inverse = apply(opened.document.annotations,
                                   mergeEdits(opened.document.annotations, "all", fixes));
        QVERIFY(opened.diagnostics().empty());
        QCOMPARE(opened.annotationOf("mm").at(0).sharding_spec_size(), 2);
        QVERIFY(!opened.annotationOf("mm").at(0).has_pipeline_stage());
        apply(opened.document.annotations, inverse);
        QVERIFY(*opened.document.toBytes() == before);
    }

    void ofTwoSpecsOfOneTensorTheLaterCounts() {
        Opened opened(model());
        const Layout first = Layout::replicated({4, 8}, {1}),
                     second = Layout::replicated({4, 8}, {2});
        apply(opened.document.annotations,
              mergeEdits(opened.document.annotations, "both",
                         {specEdit(opened, "x", &first), specEdit(opened, "x", &second)}));
        const auto& specs = opened.annotationOf("mm").at(0).sharding_spec();
        QCOMPARE(specs.size(), 2);
        QCOMPARE(specs[0].device(0), 2);
        QCOMPARE(specs[1].tensor_name(), std::string("w"));
    }

    void oneSetsWhatAnotherLeavesAndOneTakesAway() {
        Opened opened(model());
        const Layout onTwo = Layout::replicated({4, 8}, {2});
        apply(opened.document.annotations,
              mergeEdits(opened.document.annotations, "both",
                         {specEdit(opened, "w", nullptr), specEdit(opened, "y", &onTwo)}));
        const auto& specs = opened.annotationOf("mm").at(0).sharding_spec();
        QCOMPARE(specs.size(), 2);
        QCOMPARE(specs[0].tensor_name(), std::string("x"));
        QCOMPARE(specs[1].tensor_name(), std::string("y"));
    }

    void configurationsThatAreDeclaredTogetherAreAllThere() {
        Opened opened(model());
        const Edit merged =
            mergeEdits(opened.document.annotations, "both",
                       {editConfiguration(opened.document, "a", Mesh::parse("tp=2").value()),
                        editConfiguration(opened.document, "b", Mesh::parse("dp=3").value())});
        const Edit inverse = apply(opened.document.annotations, merged);
        QCOMPARE(configurationNames(opened.document.annotations),
                 (std::vector<std::string>{"c", "a", "b"}));
        QCOMPARE(opened.document.annotations.metadata.size(), 2U);
        apply(opened.document.annotations, inverse);
        QCOMPARE(configurationNames(opened.document.annotations), std::vector<std::string>{"c"});
        QVERIFY(opened.document.annotations.metadata.empty());
    }

    void theVersionIsRaisedByAnEditAloneAndTakenBack() {
        Opened opened(model().irVersion(8));
        const auto told = [&] {
            const auto all = opened.diagnostics();
            return std::any_of(all.begin(), all.end(),
                               [](const Diagnostic& d) { return d.code == "SW601"; });
        };
        QVERIFY(told());
        Edit raise;
        for (const Diagnostic& diagnostic : opened.diagnostics())
            if (diagnostic.code == "SW601")
                raise = diagnostic.fixes.at(0).edit;
        const std::string before = *opened.document.toBytes();
        const Edit inverse = apply(opened.document.annotations,
                                   mergeEdits(opened.document.annotations, "raise", {raise}));
        QVERIFY(!told());
        onnx::ModelProto saved;
        QVERIFY(saved.ParseFromString(*opened.document.toBytes()));
        QCOMPARE(saved.ir_version(), 11);
        saved.set_ir_version(8);
        QVERIFY(saved.SerializeAsString() == opened.document.model->proto().SerializeAsString());
        apply(opened.document.annotations, inverse);
        QVERIFY(told());
        QVERIFY(*opened.document.toBytes() == before);
    }

    /// A symbol that was made up for a size without a name means nothing to other readers.
    void aMadeUpSymbolIsNotWritten() {
        const Document document = ModelBuilder{}
                                      .input("x", {Dim(""), "n"})
                                      .op("Relu", {"x"}, {"y"}, "r")
                                      .output("y")
                                      .document();
        const auto shapes = ShapeTable::build(document.model, {});
        const TensorInfo& info = shapes->of(valueNamed(document.graph(), "x"));
        QVERIFY(isGeneratedSymbol(info.symbolic.at(0).symbol));
        const Layout layout(info.dims, {{{info.dims[0], 2}}, {{info.dims[1], 2}}},
                            {{0}, {1}, {2}, {3}});
        const auto spec = encodeSpec(layout, "x", info);
        QCOMPARE(spec.sharded_dim(0).simple_sharding(0).dim_case(),
                 onnx::SimpleShardedDimProto::DIM_NOT_SET);
        QCOMPARE(spec.sharded_dim(1).simple_sharding(0).dim_param(), std::string("n"));
    }
};

QTEST_GUILESS_MAIN(TstEditMerge)
#include "tst_edit_merge.moc"
