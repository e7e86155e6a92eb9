// SPDX-License-Identifier: Apache-2.0
#include "model/document.h"
#include "model/model_parser.h"
#include "support/model_builder.h"

#include <QtTest>

#include <google/protobuf/text_format.h>
#include <sys/stat.h>

#include <fstream>

using namespace shardwright;
using namespace shardwright::test;
namespace fs = std::filesystem;

namespace {

ModelBuilder small() {
    return std::move(ModelBuilder{}
                         .input("x", {4, 8})
                         .weight("w", {8, 16})
                         .op("MatMul", {"x", "w"}, {"y"}, "mm1")
                         .output("y", {4, 16}));
}

std::string textFormat(const onnx::ModelProto& model) {
    std::string text;
    google::protobuf::TextFormat::PrintToString(model, &text);
    return text;
}

std::string errorOf(std::string bytes) {
    const auto result = Model::fromBytes(std::move(bytes), "some.onnx");
    return result ? std::string() : result.error().text();
}

std::string varint(std::uint64_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7)
        bytes.push_back(static_cast<char>(value | 0x80));
    bytes.push_back(static_cast<char>(value));
    return bytes;
}

std::string lengthDelimited(int field, const std::string& payload) {
    return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(payload.size()) + payload;
}

/// Model with an If whose branch has an If, and so on. Built as bytes: protobuf's own writer
/// recurses.
std::string nestedIfs(int depth) {
    std::string graph = lengthDelimited(2, "innermost");
    for (int i = 0; i < depth; ++i) {
        const std::string attribute = lengthDelimited(1, "then_branch") + lengthDelimited(6, graph);
        const std::string node = lengthDelimited(4, "If") + lengthDelimited(5, attribute);
        graph = lengthDelimited(1, node) + lengthDelimited(2, "g");
    }
    return lengthDelimited(7, graph);
}

void write(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

class TstModelLoad : public QObject {
    Q_OBJECT

private slots:
    void opensABinaryModel() {
        const auto model = small().model();
        QCOMPARE(model->format(), Model::Format::Binary);
        QCOMPARE(model->bytes(), small().bytes());
        QCOMPARE(model->graph().main().nodes.size(), std::size_t(1));
    }

    void opensATextModel() {
        const std::string text = "# a comment\n" + textFormat(small().build());
        const auto model = Model::fromBytes(text);
        QVERIFY2(model, model ? "" : model.error().text().c_str());
        QCOMPARE((*model)->format(), Model::Format::Text);
        QCOMPARE((*model)->proto().SerializeAsString(), small().bytes());
    }

    void opensATextModelThatBeginsWithItsGraph() {
        QVERIFY(Model::fromBytes("graph { name: \"g\" }"));
        QVERIFY(Model::fromBytes("graph: < name: 'g' >"));
    }

    void errorsNameTheFileAndWhatIsWrong_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("message");
        const auto row = [](const char* name, const std::string& bytes, const char* message) {
            QTest::newRow(name) << QByteArray::fromStdString(bytes) << QString(message);
        };
        const std::string good = small().bytes();
        row("empty", "", "is empty");
        row("truncated", good.substr(0, good.size() / 2), "goes on behind the end of the file");
        row("one byte short", good.substr(0, good.size() - 1),
            "goes on behind the end of the file");
        row("no graph", varint(1 << 3) + varint(10), "it has no graph");
        row("huge claim", varint(7 << 3 | 2) + varint(0x7fffffff) + "abc",
            "goes on behind the end of the file");
        row("impossible claim", varint(7 << 3 | 2) + varint(~0ull), "is not an ONNX model");
        row("wrong wire type", varint(7 << 3 | 5) + "abcd", "no graph");
        row("noise", std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11),
            "is not an ONNX model");
        row("plain text", "The quick brown fox", "is not an ONNX model");
        row("LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
            "Git LFS pointer");
        row("ZIP", std::string("PK\x03\x04 and so on"), "ZIP archive");
        row("JSON", "{\"graph\": {}}", "JSON");
        row("ONNX text syntax", "<ir_version: 10> g (float x) => (float y) {}",
            "no words for annotations");
        row("text, unknown field", "ir_version: 10\ngraph { nome: 'x' }", "line 2, column 13");
        row("text, no graph", "ir_version: 10", "it has no graph");
        row("text, wrong type", "ir_version: 'ten'", "line 1");
    }

    void errorsNameTheFileAndWhatIsWrong() {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, message);
        const std::string error = errorOf(bytes.toStdString());
        QVERIFY2(error.starts_with("some.onnx: "), error.c_str());
        QVERIFY2(QString::fromStdString(error).contains(message), error.c_str());
    }

    void everyTruncationIsAnErrorOrAModel() {
        const std::string good =
            ModelBuilder{}
                .input("c", {}, onnx::TensorProto::BOOL)
                .op("If", {"c"}, {"y"}, "if",
                    {{"then_branch", small().graph()}, {"else_branch", small().graph()}})
                .output("y", {4, 16})
                .bytes();
        for (std::size_t size = 0; size < good.size(); ++size)
            (void)Model::fromBytes(good.substr(0, size));
    }

    void everyFlippedByteIsAnErrorOrAModel() {
        std::string good = small().ints("s", {2, -1}).op("Reshape", {"y", "s"}, {"z"}).bytes();
        for (std::size_t at = 0; at < good.size(); ++at) {
            for (const char flip : {'\x01', '\x80', '\xff'}) {
                std::string bad = good;
                bad[at] = static_cast<char>(bad[at] ^ flip);
                (void)Model::fromBytes(std::move(bad));
            }
        }
    }

    void randomBytesAreRefused() {
        std::uint64_t state = 1;
        for (int round = 0; round < 2000; ++round) {
            std::string bytes;
            for (int i = 0; i < round % 200 + 1; ++i) {
                state = state * 6364136223846793005ull + 1442695040888963407ull;
                bytes.push_back(static_cast<char>(state >> 56));
            }
            if (const auto result = Model::fromBytes(bytes))
                QVERIFY((*result)->proto().has_graph());
        }
    }

    void deepNestingIsRefusedInWords() {
        QVERIFY(Model::fromBytes(nestedIfs(30)));
        const std::string error = errorOf(nestedIfs(60));
        QVERIFY2(error.find("more than 100 messages deep") != std::string::npos, error.c_str());
        // Far beyond what any stack holds, were it taken recursively.
        QVERIFY(!errorOf(nestedIfs(3000)).empty());
    }

    void deepNestingInTextIsRefused() {
        std::string text;
        for (int i = 0; i < 100000; ++i)
            text += i == 0 ? "graph {" : " node { attribute { g {";
        QVERIFY(errorOf(text).find("is not an ONNX model in text format") != std::string::npos);
    }

    void missingFilesFoldersAndPipesAreRefused() {
        QTemporaryDir folder;
        const fs::path root = folder.path().toStdString();
        const auto error = [&](const fs::path& path) {
            const auto result = Model::load(path);
            return result ? QString() : QString::fromStdString(result.error().text());
        };
        QVERIFY(error(root / "none.onnx")
                    .contains("none.onnx: cannot be opened: there is no such file"));
        QVERIFY(error(root).contains("is a folder"));
        QCOMPARE(::mkfifo((root / "pipe").c_str(), 0600), 0);
        QVERIFY(error(root / "pipe").contains("is not a regular file"));
        QVERIFY(error("/dev/zero").contains("is not a regular file"));
        write(root / "empty.onnx", "");
        QVERIFY(error(root / "empty.onnx").contains("is empty"));
    }

    void filesBeyondTwoGibibytesAreRefusedUnread() {
        QTemporaryDir folder;
        const fs::path path = fs::path(folder.path().toStdString()) / "big.onnx";
        write(path, "x");
        std::error_code error;
        fs::resize_file(path, (1ull << 31) + 5, error);
        if (error)
            QSKIP("the file system has no sparse files");
        QElapsedTimer timer;
        timer.start();
        const auto result = Model::load(path);
        QVERIFY(!result);
        QVERIFY(timer.elapsed() < 1000);
        QVERIFY2(result.error().text().find("2147483653 bytes") != std::string::npos,
                 result.error().text().c_str());
        QVERIFY(result.error().text().find("external data") != std::string::npos);
    }

    void pathsThatAreNotUtf8AreOpened() {
        QTemporaryDir folder;
        const fs::path path =
            fs::path(folder.path().toStdString()) / "m\xff\xfe \xd1\x81\xd0\xbb.onnx";
        write(path, small().bytes());
        const auto result = Model::load(path);
        QVERIFY(result);
        QCOMPARE((*result)->path(), path);
        fs::remove(path);  // QTemporaryDir cannot.
    }

    void aCancelledLoadIsAnError() {
        QTemporaryDir folder;
        const fs::path path = fs::path(folder.path().toStdString()) / "m.onnx";
        write(path, small().bytes());
        const CancelToken cancel = CancelToken::create();
        cancel.cancel();
        const auto result = Model::load(path, cancel);
        QVERIFY(!result);
        QVERIFY(result.error().text().find("cancelled") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(TstModelLoad)
#include "tst_model_load.moc"
