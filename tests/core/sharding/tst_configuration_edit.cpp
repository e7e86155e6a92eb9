// SPDX-License-Identifier: Apache-2.0
#include "sharding/configuration_edit.h"

#include "sharding/codec.h"
#include "support/model_builder.h"

#include <QTest>

using namespace shardwright;
using namespace shardwright::test;

namespace {

Document twoConfigurations() {
    onnx::NodeDeviceConfigurationProto first, second;
    first.set_configuration_id("a.b");
    second.set_configuration_id("other");
    return ModelBuilder{}
        .configuration("a.b", 2)
        .configuration("other", 4)
        .metadata("shardwright.mesh.a.b", "{\"mesh\":\"tp=2\"}")
        .metadata("shardwright.mesh.other", "{\"mesh\":\"tp=4\"}")
        .input("x", {2})
        .op("Relu", {"x"}, {"y"}, "relu")
        .annotate(first)
        .annotate(second)
        .output("y")
        .document();
}

}  // namespace

class TstConfigurationEdit : public QObject {
    Q_OBJECT
private slots:
    void removingTakesNodesAndMetadataAndNothingElse() {
        Document document = twoConfigurations();
        const Document before = document;
        const Edit inverse = apply(document.annotations, editRemoveConfiguration(document, "a.b"));
        QCOMPARE(configurationNames(document.annotations), std::vector<std::string>{"other"});
        QCOMPARE(document.annotations.nodes[0]->size(), std::size_t(1));
        QCOMPARE(document.annotations.nodes[0]->front().configuration_id(), std::string("other"));
        QCOMPARE(document.annotations.metadata.size(), std::size_t(1));
        apply(document.annotations, inverse);
        QVERIFY(document.annotations.sameAs(before.annotations));
        QVERIFY(editRemoveConfiguration(document, "none").empty());
    }
    void renamingFollowsEverywhere() {
        Document document = twoConfigurations();
        const auto edit = editRenameConfiguration(document, "a.b", "new");
        QVERIFY(edit);
        apply(document.annotations, *edit);
        QCOMPARE(configurationNames(document.annotations),
                 (std::vector<std::string>{"new", "other"}));
        QVERIFY(document.annotations.metadata.contains("shardwright.mesh.new"));
        QVERIFY(!document.annotations.metadata.contains("shardwright.mesh.a.b"));
        QCOMPARE(document.annotations.nodes[0]->front().configuration_id(), std::string("new"));
    }
    void takenAndEmptyNamesAreRefused() {
        const Document document = twoConfigurations();
        QVERIFY(!editRenameConfiguration(document, "a.b", "other"));
        QVERIFY(!editRenameConfiguration(document, "a.b", ""));
        QVERIFY(editRenameConfiguration(document, "a.b", "a.b")->empty());
    }
    void replacingAllGivesExactlyThose() {
        Document document = twoConfigurations();
        const Annotations before = document.annotations;
        apply(document.annotations, editStrip(document));
        const Annotations stripped = document.annotations;
        apply(document.annotations, editReplaceAll(document, before));
        QVERIFY(document.annotations.sameAs(before));
        apply(document.annotations, editReplaceAll(document, stripped));
        QVERIFY(document.annotations.sameAs(stripped));
    }
};

QTEST_GUILESS_MAIN(TstConfigurationEdit)
#include "tst_configuration_edit.moc"
