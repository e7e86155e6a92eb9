// SPDX-License-Identifier: Apache-2.0
#include "ui/window/recovery.h"

#include "model/annotation_bytes.h"
#include "sharding/configuration_edit.h"
#include "ui/window/editor_session.h"
#include "ui/window/text.h"

#include <QCryptographicHash>
#include <QDataStream>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QSaveFile>
#include <QStandardPaths>

namespace shardwright {
namespace {

constexpr int kDelayMs = 2000;
constexpr quint32 kMagic = 0x53575243;  // "SWRC"
constexpr int kMostCopies = 32;
const QString kSuffix = QStringLiteral(".recovery");

QByteArray fingerprint(const Model& model) {
    QCryptographicHash hash(QCryptographicHash::Sha1);
    // addData takes what fits an int in Qt 6.4.
    constexpr std::size_t kChunk = std::size_t(1) << 28;
    const std::string& bytes = model.bytes();
    for (std::size_t at = 0; at < bytes.size(); at += kChunk)
        hash.addData(QByteArrayView(bytes.data() + at,
                                    static_cast<qsizetype>(std::min(kChunk, bytes.size() - at))));
    return hash.result();
}

QString stemOf(const QString& modelPath) {
    const QByteArray path = QFileInfo(modelPath).absoluteFilePath().toUtf8();
    return QString::fromLatin1(
        QCryptographicHash::hash(path, QCryptographicHash::Sha1).toHex().left(20));
}

bool writeCopy(const QString& file, const std::shared_ptr<const Model>& model,
               const Annotations& annotations) {
    QDir().mkpath(QFileInfo(file).absolutePath());
    QSaveFile out(file);
    if (!out.open(QIODevice::WriteOnly))
        return false;
    const std::string bytes = annotationsToBytes(annotations);
    QDataStream stream(&out);
    stream << kMagic << fingerprint(*model) << QByteArray::fromStdString(bytes);
    return stream.status() == QDataStream::Ok && out.commit();
}

/// What a copy holds for this very model; null: unreadable, or of other contents.
std::shared_ptr<Annotations> readCopy(const QString& file, const Model& model) {
    QFile in(file);
    if (!in.open(QIODevice::ReadOnly))
        return nullptr;
    QDataStream stream(&in);
    quint32 magic = 0;
    QByteArray print, bytes;
    stream >> magic >> print >> bytes;
    if (stream.status() != QDataStream::Ok || magic != kMagic || print != fingerprint(model))
        return nullptr;
    auto annotations = annotationsFromBytes(
        std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())), model);
    return annotations ? std::make_shared<Annotations>(std::move(*annotations)) : nullptr;
}

}  // namespace

struct Recovery::Copy {
    QString file;
    std::unique_ptr<QLockFile> lock;
};

QString Recovery::folder() {
    return QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) +
           QStringLiteral("/recovery");
}

Recovery::Recovery(EditorSession* session, QObject* parent) : QObject(parent), m_session(session) {
    m_delay.setSingleShot(true);
    m_delay.setInterval(kDelayMs);
    connect(&m_delay, &QTimer::timeout, this, &Recovery::write);
    connect(session, &EditorSession::opened, this, &Recovery::opened);
    connect(session, &EditorSession::closed, this, &Recovery::closed);
    connect(session, &EditorSession::saved, this, [this] {
        if (!m_session->isModified() && !m_offer)
            discard();
    });
    // Whether it is modified is told when the time is over: the undo stack does not know yet.
    connect(session, &EditorSession::documentChanged, &m_delay, qOverload<>(&QTimer::start));
}

Recovery::~Recovery() = default;

void Recovery::opened() {
    m_delay.stop();
    m_copy.reset();
    m_offer.reset();
    m_looking = false;
    m_model = m_session->document().model;
    look();
}

void Recovery::closed() {
    m_delay.stop();
    m_copy.reset();
    m_offer.reset();
    m_model.reset();
}

void Recovery::look() {
    const QDir dir(folder());
    const auto files = dir.entryInfoList(
        {stemOf(m_session->filePath()) + QStringLiteral("-*") + kSuffix}, QDir::Files, QDir::Time);
    for (const QFileInfo& info : files) {
        auto lock = std::make_unique<QLockFile>(info.filePath() + QStringLiteral(".lock"));
        lock->setStaleLockTime(0);
        if (!lock->tryLock(0))
            continue;
        m_copy = std::make_unique<Copy>(Copy{info.filePath(), std::move(lock)});
        m_looking = true;
        m_session->jobs()->start<std::shared_ptr<Annotations>>(
            JobTracker::Kind::Recovery,
            [file = info.filePath(), model = m_model](const CancelToken&) {
                return readCopy(file, *model);
            },
            [this, model = m_model,
             time = info.lastModified()](std::shared_ptr<Annotations> found) {
                if (model != m_model)
                    return;
                m_looking = false;
                if (!found || found->sameAs(m_session->document().annotations)) {
                    // Of other contents: kept for when they come back, under its own name.
                    m_copy.reset();
                    return;
                }
                m_offer = std::move(found);
                emit offered(time);
            });
        return;
    }
}

void Recovery::restore() {
    if (!m_offer || !m_session->hasDocument())
        return;
    const auto offer = std::exchange(m_offer, nullptr);
    m_session->push(editReplaceAll(m_session->document(), *offer),
                    tr("Restore unsaved annotations"));
}

void Recovery::discard() {
    m_delay.stop();
    m_offer.reset();
    m_session->jobs()->cancel(JobTracker::Kind::Recovery);
    if (m_copy)
        QFile::remove(m_copy->file);
    m_copy.reset();
}

bool Recovery::lockNewName() {
    QDir().mkpath(folder());
    for (int i = 0; i < kMostCopies; ++i) {
        const QString file = QStringLiteral("%1/%2-%3%4")
                                 .arg(folder(), stemOf(m_session->filePath()))
                                 .arg(i)
                                 .arg(kSuffix);
        auto lock = std::make_unique<QLockFile>(file + QStringLiteral(".lock"));
        // A lock is stale when its program is gone, not when it is old.
        lock->setStaleLockTime(0);
        // An unlocked file that exists is another session's, not yet restored.
        if (QFileInfo::exists(file) || !lock->tryLock(0))
            continue;
        m_copy = std::make_unique<Copy>(Copy{file, std::move(lock)});
        return true;
    }
    return false;
}

void Recovery::write() {
    if (!m_session->isModified()) {
        // Everything was undone.
        if (m_copy && !m_offer && !m_looking)
            discard();
        return;
    }
    // An offer that nobody answered stays; new work gets a file of its own.
    if (m_offer || m_looking) {
        m_offer.reset();
        m_looking = false;
        m_copy.reset();
    }
    if (!m_copy && !lockNewName())
        return;
    m_session->jobs()->start<bool>(
        JobTracker::Kind::Recovery,
        [file = m_copy->file, document = m_session->document()](const CancelToken&) {
            return writeCopy(file, document.model, document.annotations);
        },
        [this](bool done) {
            if (done)
                emit written();
        });
}

}  // namespace shardwright
