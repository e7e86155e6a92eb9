// SPDX-License-Identifier: Apache-2.0
// libshardwright-mpi.so. Non-blocking operations only, so that a waiting process can notice that
// another one has failed.
#include "run/mpi_library.h"

#include <mpi.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <vector>

namespace shardwright {

namespace {

constexpr int kMostNote = 2000;
constexpr int kMessage = 0, kNote = 1;  // Tags

class Group : public MpiGroup {
public:
    Group(MPI_Comm communicator, const std::size_t& largest)
        : m_communicator(communicator), m_largest(largest) {
        MPI_Comm_rank(m_communicator, &m_rank);
    }
    // The communicator stays: freeing it would be one more step that all have to take together.

    void barrier() override { MPI_Ibarrier(m_communicator, next()); }

    void broadcast(std::byte* data, std::size_t bytes, int root) override {
        inPieces(data, bytes, [&](std::byte* piece, int count) {
            MPI_Ibcast(piece, count, MPI_BYTE, root, m_communicator, next());
        });
    }

    void allGather(const std::byte* send, std::byte* receive, Counts counts) override {
        const auto [sizes, places] = intsOf(counts);
        const auto rank = static_cast<std::size_t>(m_rank);
        const bool inPlace = send == receive + (*places)[rank];
        MPI_Iallgatherv(inPlace ? MPI_IN_PLACE : send, (*sizes)[rank], MPI_BYTE, receive,
                        sizes->data(), places->data(), MPI_BYTE, m_communicator, next());
    }

    void allToAll(const std::byte* send, Counts sendCounts, std::byte* receive,
                  Counts receiveCounts) override {
        const auto [out, outPlaces] = intsOf(sendCounts);
        const auto [in, inPlaces] = intsOf(receiveCounts);
        MPI_Ialltoallv(send, out->data(), outPlaces->data(), MPI_BYTE, receive, in->data(),
                       inPlaces->data(), MPI_BYTE, m_communicator, next());
    }

    void send(const std::byte* data, std::size_t bytes, int to) override {
        inPieces(data, bytes, [&](const std::byte* piece, int count) {
            MPI_Isend(piece, count, MPI_BYTE, to, kMessage, m_communicator, next());
        });
    }

    void receive(std::byte* data, std::size_t bytes, int from) override {
        inPieces(data, bytes, [&](std::byte* piece, int count) {
            MPI_Irecv(piece, count, MPI_BYTE, from, kMessage, m_communicator, next());
        });
    }

    bool finished() override {
        int done = 0;
        MPI_Testall(static_cast<int>(m_requests.size()), m_requests.data(), &done,
                    MPI_STATUSES_IGNORE);
        if (!done)
            return false;
        m_requests.clear();
        m_ints.clear();
        return true;
    }

    void sendNote(int rank, std::string_view text) override {
        const std::lock_guard lock(m_mutex);
        while (!m_sent.empty()) {
            int done = 0;
            MPI_Test(&m_sent.front().request, &done, MPI_STATUS_IGNORE);
            if (!done)
                break;
            m_sent.pop_front();
        }
        // Kept until it is on its way: nobody waits for that.
        SentNote& note = m_sent.emplace_back();
        note.text = text.substr(0, kMostNote);
        MPI_Isend(note.text.data(), static_cast<int>(note.text.size()), MPI_CHAR, rank, kNote,
                  m_communicator, &note.request);
    }

    std::optional<Note> takeNote() override {
        // Between the look and the taking nobody else may take it.
        const std::unique_lock lock(m_takeMutex, std::try_to_lock);
        if (!lock.owns_lock())
            return std::nullopt;
        int there = 0, length = 0;
        MPI_Status status;
        MPI_Iprobe(MPI_ANY_SOURCE, kNote, m_communicator, &there, &status);
        if (!there)
            return std::nullopt;
        MPI_Get_count(&status, MPI_CHAR, &length);
        Note note{status.MPI_SOURCE, std::string(static_cast<std::size_t>(length), ' ')};
        MPI_Recv(note.text.data(), length, MPI_CHAR, status.MPI_SOURCE, kNote, m_communicator,
                 MPI_STATUS_IGNORE);
        return note;
    }

private:
    using Ints = std::vector<int>;

    MPI_Request* next() { return &m_requests.emplace_back(MPI_REQUEST_NULL); }

    /// At least one piece, so that a message of no bytes is one, too.
    template <class Data, class F>
    void inPieces(Data* data, std::size_t bytes, F&& f) const {
        for (std::size_t done = 0; done == 0 || done < bytes;) {
            const std::size_t count = std::min(bytes - done, m_largest);
            f(data + done, static_cast<int>(count));
            done += count;
            if (count == 0)
                return;
        }
    }

    /// Counts and offsets; MPI reads them until the operation is complete.
    std::pair<const Ints*, const Ints*> intsOf(Counts counts) {
        Ints& sizes = m_ints.emplace_back();
        Ints& places = m_ints.emplace_back();
        int place = 0;
        for (const std::size_t count : counts) {
            sizes.push_back(static_cast<int>(count));
            places.push_back(place);
            place += sizes.back();
        }
        return {&sizes, &places};
    }

    const MPI_Comm m_communicator;
    const std::size_t& m_largest;
    int m_rank = 0;
    std::vector<MPI_Request> m_requests;
    std::deque<Ints> m_ints;
    struct SentNote {
        std::string text;
        MPI_Request request = MPI_REQUEST_NULL;
    };
    std::mutex m_mutex, m_takeMutex;
    std::deque<SentNote> m_sent;
};

class Library : public MpiLibrary {
public:
    Library() {
        MPI_Comm_rank(MPI_COMM_WORLD, &m_rank);
        MPI_Comm_size(MPI_COMM_WORLD, &m_size);
    }

    int rank() const override { return m_rank; }
    int size() const override { return m_size; }

    std::string version() const override {
        char text[MPI_MAX_LIBRARY_VERSION_STRING];
        int length = 0;
        MPI_Get_library_version(text, &length);
        const std::string words(text, static_cast<std::size_t>(length));
        // "Open MPI v4.1.4, package: ..."
        return words.substr(0, words.find_first_of(",\n"));
    }

    std::unique_ptr<MpiGroup> group(std::span<const int> ranks) override {
        MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
        MPI_Comm communicator = MPI_COMM_NULL;
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some);
        MPI_Comm_create_group(MPI_COMM_WORLD, some, 0, &communicator);
        MPI_Group_free(&some);
        MPI_Group_free(&all);
        return std::make_unique<Group>(communicator, largestMessage);
    }

    void finish() override { MPI_Finalize(); }

private:
    int m_rank = 0, m_size = 1;
};

}  // namespace

}  // namespace shardwright

extern "C" __attribute__((visibility("default"))) shardwright::MpiLibrary*
shardwrightMpi(std::string& error) {
    static std::unique_ptr<shardwright::Library> library;
    if (library)
        return library.get();
    int provided = 0;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) {
        error = "MPI cannot be initialised";
        return nullptr;
    }
    // A failure is told to the others from another thread than the one that waits.
    if (provided < MPI_THREAD_MULTIPLE) {
        error = "this MPI was built without support for several threads";
        return nullptr;
    }
    library = std::make_unique<shardwright::Library>();
    return library.get();
}
