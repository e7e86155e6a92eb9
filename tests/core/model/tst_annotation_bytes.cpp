// SPDX-License-Identifier: Apache-2.0
#include "model/annotation_bytes.h"

#include "support/model_builder.h"

#include <QTest>

using namespace shardwright;
using namespace shardwright::test;

namespace {

Document annotated(const char* tensor) {
    onnx::NodeDeviceConfigurationProto annotation;
    annotation.set_configuration_id("two");
    annotation.add_sharding_spec()->set_tensor_name(tensor);
    return ModelBuilder{}
        .configuration("two", 2)
        .metadata("shardwright.mesh.two", "tp=2")
        .input("x", {2})
        .op("Relu", {"x"}, {"h"}, "a")
        .op("Relu", {"h"}, {"y"}, "b")
        .annotate(annotation)
        .output("y")
        .document();
}

}  // namespace

class TstAnnotationBytes : public QObject {
    Q_OBJECT
private slots:
    void whatIsWrittenComesBackEqual() {
        const Document document = annotated("y");
        const auto back =
            annotationsFromBytes(annotationsToBytes(document.annotations), *document.model);
        QVERIFY(back);
        QVERIFY(back->sameAs(document.annotations));
        QVERIFY(!back->sameAs(annotated("h").annotations));
    }
    void anotherModelsAnnotationsAreRefused() {
        const Document other =
            ModelBuilder{}.input("x", {2}).op("Relu", {"x"}, {"y"}).output("y").document();
        const auto back =
            annotationsFromBytes(annotationsToBytes(annotated("y").annotations), *other.model);
        QVERIFY(!back);
        QVERIFY(back.error().message.find("2 nodes") != std::string::npos);
    }
    void otherBytesAreRefused() {
        QVERIFY(!annotationsFromBytes("not annotations", *annotated("y").model));
    }
};

QTEST_GUILESS_MAIN(TstAnnotationBytes)
#include "tst_annotation_bytes.moc"
