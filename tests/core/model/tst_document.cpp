// SPDX-License-Identifier: Apache-2.0
#include "model/document.h"
#include "model/file_bytes.h"
#include "support/model_builder.h"

#include <QtTest>

#include <csignal>
#include <google/protobuf/text_format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

using namespace shardwright;
using namespace shardwright::test;
namespace fs = std::filesystem;

namespace {

onnx::NodeDeviceConfigurationProto annotation(const std::string& configuration,
                                              const std::string& tensor) {
    onnx::NodeDeviceConfigurationProto proto;
    proto.set_configuration_id(configuration);
    auto* spec = proto.add_sharding_spec();
    spec->set_tensor_name(tensor);
    spec->add_device(0);
    spec->add_device(1);
    return proto;
}

std::shared_ptr<const NodeAnnotation>
annotations(std::vector<onnx::NodeDeviceConfigurationProto> list) {
    return std::make_shared<const NodeAnnotation>(std::move(list));
}

ModelBuilder annotated() {
    return std::move(ModelBuilder{}
                         .irVersion(11)
                         .configuration("tp2", 2, {"a", "b"})
                         .metadata("author", "somebody")
                         .metadata("shardwright.mesh.tp2", "tp=2")
                         .input("x", {4, 8})
                         .weight("w", {8, 16})
                         .op("MatMul", {"x", "w"}, {"h"}, "mm")
                         .annotate(annotation("tp2", "w"))
                         .op("Relu", {"h"}, {"y"}, "act")
                         .output("y", {4, 16}));
}

std::string contents(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

void write(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

fs::path at(const QTemporaryDir& folder, const char* name) {
    return fs::path(folder.path().toStdString()) / name;
}

QStringList filesIn(const QTemporaryDir& folder) {
    return QDir(folder.path()).entryList(QDir::Files | QDir::Hidden | QDir::System);
}

QString errorOf(const Result<void>& result) {
    return result ? QString() : QString::fromStdString(result.error().text());
}

}  // namespace

class TstDocument : public QObject {
    Q_OBJECT

private slots:
    void readsAnnotationsAsTheFileHasThem() {
        const Document document = annotated().document();
        QCOMPARE(document.annotations.configurations.size(), std::size_t(1));
        QCOMPARE(document.annotations.configurations[0].num_devices(), 2);
        QCOMPARE(document.annotations.metadata,
                 (std::map<std::string, std::string>{{"shardwright.mesh.tp2", "tp=2"}}));
        QCOMPARE(document.annotations.nodes.size(), std::size_t(2));
        QCOMPARE(document.annotations.nodes[0]->at(0).configuration_id(), std::string("tp2"));
        QVERIFY(!document.annotations.nodes[1]);
    }

    void annotationsCompareByContent() {
        const Document document = annotated().document();
        Annotations copy = document.annotations;
        QVERIFY(copy.sameAs(document.annotations));
        copy.nodes.set(0, annotations({annotation("tp2", "w")}));
        QVERIFY(copy.sameAs(document.annotations));
        copy.nodes.set(1, annotations({}));
        QVERIFY(copy.sameAs(document.annotations));
        copy.nodes.set(1, annotations({annotation("tp2", "h")}));
        QVERIFY(!copy.sameAs(document.annotations));
        copy = document.annotations;
        copy.configurations[0].set_num_devices(4);
        QVERIFY(!copy.sameAs(document.annotations));
        copy = document.annotations;
        copy.metadata.clear();
        QVERIFY(!copy.sameAs(document.annotations));
    }

    void withoutAnEditTheBytesAreTheFiles() {
        // Not what protobuf would write: a field of a later version first, then the fields in
        // reverse order.
        const std::string unknown = "\xba\xbb\x01\x03zzz";
        const std::string bytes = unknown + "\x3a\x05\x12\x03odd\x08\x0a";
        const Document document{*Model::fromBytes(bytes), {}};
        Document opened = document;
        opened.annotations = document.model->annotations();
        QCOMPARE(*opened.toBytes(), bytes);
    }

    void anEditThatIsUndoneLeavesTheBytes() {
        Document document = annotated().document();
        const auto before = document.annotations.nodes[0];
        document.annotations.nodes.set(0, nullptr);
        QVERIFY(*document.toBytes() != document.model->bytes());
        document.annotations.nodes.set(0, annotations({before->begin(), before->end()}));
        QCOMPARE(*document.toBytes(), document.model->bytes());
    }

    void anEditChangesOnlyAnnotations() {
        Document document = annotated().document();
        document.annotations.nodes.set(1, annotations({annotation("tp2", "y")}));
        onnx::ModelProto expected = annotated().build();
        *expected.mutable_graph()->mutable_node(1)->add_device_configurations() =
            annotation("tp2", "y");
        QCOMPARE(document.toProto().SerializeAsString(), expected.SerializeAsString());
        QCOMPARE(*document.toBytes(), expected.SerializeAsString());
    }

    void anEmptyListRemovesTheAnnotation() {
        Document document = annotated().document();
        document.annotations.nodes.set(0, annotations({}));
        QCOMPARE(document.toProto().graph().node(0).device_configurations_size(), 0);
        QVERIFY(document.toBytes()->find("author") != std::string::npos);
    }

    void irVersionIsRaisedOnlyToEleven_data() {
        QTest::addColumn<int>("before");
        QTest::addColumn<int>("after");
        QTest::newRow("8") << 8 << 11;
        QTest::newRow("11") << 11 << 11;
        QTest::newRow("13") << 13 << 13;
    }

    void irVersionIsRaisedOnlyToEleven() {
        QFETCH(int, before);
        QFETCH(int, after);
        Document document = ModelBuilder{}
                                .irVersion(before)
                                .input("x", {4})
                                .op("Relu", {"x"}, {"y"})
                                .output("y", {4})
                                .document();
        QCOMPARE(document.toProto().ir_version(), before);
        document.annotations.nodes.set(0, annotations({annotation("tp2", "y")}));
        QCOMPARE(document.toProto().ir_version(), after);
    }

    void takingAllAnnotationsAwayKeepsTheVersion() {
        Document document = annotated().irVersion(10).document();
        document.annotations.nodes.set(0, nullptr);
        document.annotations.configurations.clear();
        QCOMPARE(document.toProto().ir_version(), 10);
        QCOMPARE(document.toProto().configuration_size(), 0);
    }

    void metadataOfOthersStaysInItsPlace() {
        Document document = annotated().metadata("last", "entry").document();
        document.annotations.metadata["shardwright.mesh.tp2"] = "x=2";
        document.annotations.metadata["shardwright.new"] = "1";
        const auto proto = document.toProto();
        QCOMPARE(proto.metadata_props_size(), 4);
        QCOMPARE(proto.metadata_props(0).key(), std::string("author"));
        QCOMPARE(proto.metadata_props(1).value(), std::string("x=2"));
        QCOMPARE(proto.metadata_props(2).key(), std::string("last"));
        QCOMPARE(proto.metadata_props(3).key(), std::string("shardwright.new"));
        document.annotations.metadata.clear();
        QCOMPARE(document.toProto().metadata_props_size(), 2);
    }

    void repeatedMetadataKeysAreReplacedTogether() {
        Document document = annotated().metadata("shardwright.mesh.tp2", "second").document();
        QCOMPARE(document.annotations.metadata.at("shardwright.mesh.tp2"), std::string("tp=2"));
        document.annotations.nodes.set(1, annotations({annotation("tp2", "y")}));
        QCOMPARE(document.toProto().metadata_props_size(), 3);
        document.annotations.metadata["shardwright.mesh.tp2"] = "new";
        QCOMPARE(document.toProto().metadata_props_size(), 2);
    }

    void unknownFieldsSurviveAnEdit() {
        onnx::ModelProto proto = annotated().build();
        proto.GetReflection()->MutableUnknownFields(&proto)->AddVarint(3000, 7);
        auto* node = proto.mutable_graph()->mutable_node(1);
        node->GetReflection()->MutableUnknownFields(node)->AddLengthDelimited(3001)->assign(
            "later");
        Document document{*Model::fromBytes(proto.SerializeAsString()), {}};
        document.annotations = document.model->annotations();
        document.annotations.nodes.set(1, annotations({annotation("tp2", "y")}));
        *node->add_device_configurations() = annotation("tp2", "y");
        QCOMPARE(document.toProto().SerializeAsString(), proto.SerializeAsString());
        onnx::ModelProto saved;
        QVERIFY(saved.ParseFromString(*document.toBytes()));
        QCOMPARE(saved.SerializeAsString(), proto.SerializeAsString());
    }

    void anEditKeepsTheBytesAroundIt() {
        // As another writer might lay it out: unknown fields first, the graph before the version,
        // lengths in more bytes than needed, node fields in reverse order.
        const std::string before = "\xba\xbb\x01\x03zzz";
        const std::string node = "\x22\x04Relu\x12\x01y\x0a\x01x";
        const std::string behind = std::string("\x08\x8b\x00", 3) + before;
        const std::string padded = std::string("\x12\x84\x80\x00name", 8);
        const std::string body = padded + "\x0a" + static_cast<char>(node.size()) + node;
        const std::string bytes = before + "\x3a" + static_cast<char>(body.size()) + body + behind;
        Document document{*Model::fromBytes(bytes), {}};
        document.annotations = document.model->annotations();
        QCOMPARE(document.graph().nodes.size(), std::size_t(1));
        document.annotations.nodes.set(0, annotations({annotation("c", "y")}));
        const std::string added =
            "\x52" + std::string(1, static_cast<char>(annotation("c", "y").ByteSizeLong())) +
            annotation("c", "y").SerializeAsString();
        const std::string newBody =
            padded + "\x0a" + static_cast<char>(node.size() + added.size()) + node + added;
        QCOMPARE(*document.toBytes(),
                 before + "\x3a" + static_cast<char>(newBody.size()) + newBody + behind);
    }

    void oddLayoutsAreSerialisedAgain() {
        // Two parts of the graph, which protobuf merges.
        const std::string part =
            ModelBuilder{}.op("Relu", {"x"}, {"y"}).build().graph().SerializeAsString();
        const std::string field = "\x3a" + std::string(1, static_cast<char>(part.size())) + part;
        Document document{*Model::fromBytes(field + field), {}};
        document.annotations = document.model->annotations();
        QCOMPARE(document.graph().nodes.size(), std::size_t(2));
        document.annotations.nodes.set(1, annotations({annotation("c", "y")}));
        onnx::ModelProto saved;
        QVERIFY(saved.ParseFromString(*document.toBytes()));
        QCOMPARE(saved.graph().node(0).device_configurations_size(), 0);
        QCOMPARE(saved.graph().node(1).device_configurations_size(), 1);
    }

    void nodesOfBodiesAndFunctionsAreAnnotated() {
        const auto inner = ModelBuilder{}.op("Relu", {"x"}, {"t"}, "deep").output("t").graph();
        const auto branch =
            ModelBuilder{}
                .op("If", {"c"}, {"u"}, "inner", {{"then_branch", inner}, {"else_branch", inner}})
                .output("u")
                .graph();
        Document document =
            ModelBuilder{}
                .function("d", "F",
                          ModelBuilder{}
                              .input("a", {1})
                              .op("Relu", {"a"}, {"b"}, "in_function")
                              .output("b"))
                .input("c", {}, onnx::TensorProto::BOOL)
                .input("x", {4})
                .op("If", {"c"}, {"y"}, "outer", {{"then_branch", branch}, {"else_branch", inner}})
                .output("y", {4})
                .document();
        for (const NodeInfo& node : document.graph().nodes)
            document.annotations.nodes.set(
                node.id.index(),
                annotations({annotation("c" + std::to_string(node.id.value), "t")}));
        const auto saved = *Model::fromBytes(*document.toBytes());
        const Annotations again = saved->annotations();
        QVERIFY(again.sameAs(document.annotations));
        for (const NodeInfo& node : saved->graph().nodes)
            QCOMPARE(saved->graph().label(node.id), document.graph().label(node.id));
        QCOMPARE(saved->proto().functions(0).node(0).device_configurations_size(), 1);
    }

    void nodesWithOneNameAreSavedSeparately() {
        Document document = ModelBuilder{}
                                .input("x", {4})
                                .op("Relu", {"x"}, {"a"}, "same")
                                .op("Relu", {"a"}, {"b"}, "same")
                                .output("b", {4})
                                .document();
        document.annotations.nodes.set(1, annotations({annotation("only_second", "b")}));
        const auto proto = document.toProto();
        QCOMPARE(proto.graph().node(0).device_configurations_size(), 0);
        QCOMPARE(proto.graph().node(1).device_configurations_size(), 1);
    }

    void textModelsAreSavedAsText() {
        std::string text;
        google::protobuf::TextFormat::PrintToString(annotated().build(), &text);
        text = "# kept as long as nothing is edited\n" + text;
        Document document{*Model::fromBytes(text), {}};
        document.annotations = document.model->annotations();
        QCOMPARE(*document.toBytes(), text);
        document.annotations.nodes.set(1, annotations({annotation("tp2", "y")}));
        const auto again = Model::fromBytes(*document.toBytes());
        QVERIFY(again);
        QCOMPARE((*again)->format(), Model::Format::Text);
        QCOMPARE((*again)->proto().SerializeAsString(), document.toProto().SerializeAsString());
    }

    void savesAtomicallyAndKeepsTheMode() {
        QTemporaryDir folder;
        const fs::path path = at(folder, "m.onnx");
        write(path, annotated().bytes());
        ::chmod(path.c_str(), 0640);
        auto document = Document::open(path);
        QVERIFY(document);
        document->annotations.nodes.set(0, nullptr);
        QCOMPARE(errorOf(document->save(path)), QString());
        QCOMPARE(contents(path), *document->toBytes());
        struct stat status {};
        ::stat(path.c_str(), &status);
        QCOMPARE(status.st_mode & 0777, mode_t(0640));
        QCOMPARE(filesIn(folder), QStringList{"m.onnx"});
    }

    void newFilesFollowTheUmask() {
        QTemporaryDir folder;
        const mode_t old = ::umask(027);
        const auto saved = annotated().document().save(at(folder, "new.onnx"));
        ::umask(old);
        QCOMPARE(errorOf(saved), QString());
        struct stat status {};
        ::stat(at(folder, "new.onnx").c_str(), &status);
        QCOMPARE(status.st_mode & 0777, mode_t(0640));
    }

    void savingFollowsSymlinks() {
        QTemporaryDir folder;
        fs::create_directory(at(folder, "real"));
        write(at(folder, "real/m.onnx"), "old");
        fs::create_symlink("real/m.onnx", at(folder, "link.onnx"));
        fs::create_symlink("real/later.onnx", at(folder, "dangling.onnx"));
        fs::create_symlink("loop.onnx", at(folder, "loop.onnx"));
        const Document document = annotated().document();
        QCOMPARE(errorOf(document.save(at(folder, "link.onnx"))), QString());
        QVERIFY(fs::is_symlink(at(folder, "link.onnx")));
        QCOMPARE(contents(at(folder, "real/m.onnx")), document.model->bytes());
        QCOMPARE(errorOf(document.save(at(folder, "dangling.onnx"))), QString());
        QVERIFY(fs::is_symlink(at(folder, "dangling.onnx")));
        QCOMPARE(contents(at(folder, "real/later.onnx")), document.model->bytes());
        QVERIFY(
            errorOf(document.save(at(folder, "loop.onnx"))).contains("too many symbolic links"));
    }

    void failuresNamePathAndReasonAndLoseNothing() {
        QTemporaryDir folder;
        const Document document = annotated().document();
        QVERIFY(errorOf(document.save(folder.path().toStdString())).contains("is a folder"));
        QVERIFY(errorOf(document.save(at(folder, "none/m.onnx")))
                    .contains("there is no such file or folder"));
        QVERIFY(errorOf(document.save("/dev/null")).contains("not a regular file"));
        QVERIFY(errorOf(document.save(at(folder, "x") / std::string(300, 'n')))
                    .contains("cannot be saved"));
        const QString proc = errorOf(document.save("/proc/m.onnx"));
        QVERIFY2(
            proc.contains("/proc/m.onnx: cannot be saved: no file can be made in the folder /proc"),
            qPrintable(proc));
        if (::geteuid() == 0)
            QSKIP("root may write everywhere");
        write(at(folder, "m.onnx"), "old");
        ::chmod(folder.path().toStdString().c_str(), 0500);
        const QString error = errorOf(document.save(at(folder, "m.onnx")));
        ::chmod(folder.path().toStdString().c_str(), 0700);
        QVERIFY2(error.contains("m.onnx") && error.contains("permission denied"),
                 qPrintable(error));
        QCOMPARE(contents(at(folder, "m.onnx")), std::string("old"));
    }

    void aFullDiskLeavesTheOldFile() {
        QTemporaryDir folder;
        write(at(folder, "m.onnx"), "old");
        Document document = ModelBuilder{}
                                .input("x", {4, 8})
                                .weight("w", {500, 500})
                                .op("MatMul", {"x", "w"}, {"y"})
                                .output("y")
                                .document();
        // A limit on the size of files fails in the middle of writing, as a full disk does.
        std::signal(SIGXFSZ, SIG_IGN);
        rlimit old{};
        ::getrlimit(RLIMIT_FSIZE, &old);
        const rlimit small{100000, old.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &small);
        const QString error = errorOf(document.save(at(folder, "m.onnx")));
        ::setrlimit(RLIMIT_FSIZE, &old);
        QVERIFY2(error.contains("m.onnx: cannot be saved"), qPrintable(error));
        QCOMPARE(contents(at(folder, "m.onnx")), std::string("old"));
        QCOMPARE(filesIn(folder), QStringList{"m.onnx"});
    }

    void pathsOutsideAsciiAreSaved() {
        QTemporaryDir folder;
        const fs::path path = at(folder, "модель 図😀\xff.onnx");
        QCOMPARE(errorOf(annotated().document().save(path)), QString());
        QVERIFY(Document::open(path));
        fs::remove(path);  // QTemporaryDir cannot.
        std::string name(250, 'n');
        name.append(".onnx");
        const fs::path longest = at(folder, name.c_str());
        QCOMPARE(errorOf(annotated().document().save(longest)), QString());
    }

    void externalDataIsLeftAlone() {
        QTemporaryDir folder;
        write(at(folder, "w.bin"), std::string(128, 'w'));
        write(at(folder, "m.onnx"), ModelBuilder{}
                                        .input("x", {4, 8})
                                        .externalWeight("w", {8, 4}, "w.bin", 0, 128)
                                        .op("MatMul", {"x", "w"}, {"y"})
                                        .output("y")
                                        .bytes());
        const auto time = fs::last_write_time(at(folder, "w.bin"));
        auto document = Document::open(at(folder, "m.onnx"));
        QVERIFY(document);
        document->annotations.nodes.set(0, annotations({annotation("tp2", "w")}));
        QCOMPARE(errorOf(document->save(at(folder, "m.onnx"))), QString());
        QCOMPARE(errorOf(document->save(at(folder, "copy.onnx"))), QString());
        QCOMPARE(fs::last_write_time(at(folder, "w.bin")), time);
        const auto saved = *Model::load(at(folder, "m.onnx"));
        QCOMPARE(saved->proto().graph().initializer(0).external_data_size(), 3);
        QCOMPARE(saved->proto().graph().initializer(0).external_data(0).value(),
                 std::string("w.bin"));
    }

    void savingAwayFromExternalDataIsRefused() {
        QTemporaryDir folder;
        QTemporaryDir other;
        write(at(folder, "w.bin"), std::string(128, 'w'));
        write(at(folder, "m.onnx"), ModelBuilder{}
                                        .input("x", {4, 8})
                                        .externalWeight("w", {8, 4}, "w.bin")
                                        .op("MatMul", {"x", "w"}, {"y"})
                                        .output("y")
                                        .bytes());
        const auto document = Document::open(at(folder, "m.onnx"));
        const QString error = errorOf(document->save(at(other, "m.onnx")));
        QVERIFY2(error.contains("w.bin"), qPrintable(error));
        QVERIFY(filesIn(other).isEmpty());
        write(at(other, "w.bin"), "another file");
        QVERIFY(!document->save(at(other, "m.onnx")));
        fs::copy_file(at(folder, "w.bin"), at(other, "w.bin"),
                      fs::copy_options::overwrite_existing);
        QCOMPARE(errorOf(document->save(at(other, "m.onnx"))), QString());
        // The same folder by another name.
        fs::create_directory_symlink(folder.path().toStdString(), at(other, "alias"));
        QCOMPARE(errorOf(document->save(at(other, "alias/again.onnx"))), QString());
    }
};

QTEST_GUILESS_MAIN(TstDocument)
#include "tst_document.moc"
