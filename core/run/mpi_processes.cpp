// SPDX-License-Identifier: Apache-2.0
#include "run/mpi_processes.h"

#include "run/mpi_communicator.h"
#include "run/plugins.h"

namespace shardwright {

namespace {

std::byte* bytesOf(void* data) {
    return static_cast<std::byte*>(data);
}

class MpiProcesses : public RunProcesses {
public:
    MpiProcesses(MpiLibrary& library, int count, std::size_t small)
        : m_connection(std::make_shared<MpiConnection>(library, count)), m_small(small) {}

    int rank() const override { return m_connection->library.rank(); }
    int size() const override { return m_connection->count(); }
    std::string name() const override { return m_connection->library.version(); }

    Result<std::string> broadcast(std::string bytes) override {
        MpiGroup& all = *m_connection->all;
        std::uint64_t size = bytes.size();
        all.broadcast(bytesOf(&size), sizeof size, 0);
        if (auto done = wait(); !done)
            return done.error();
        bytes.resize(size);
        all.broadcast(bytesOf(bytes.data()), bytes.size(), 0);
        if (auto done = wait(); !done)
            return done.error();
        return bytes;
    }

    Result<std::vector<std::string>> gather(std::string bytes) override {
        MpiGroup& all = *m_connection->all;
        const auto n = static_cast<std::size_t>(size());
        const std::uint64_t own = bytes.size();
        std::vector<std::uint64_t> sizes(n);
        all.allGather(reinterpret_cast<const std::byte*>(&own), bytesOf(sizes.data()),
                      std::vector<std::size_t>(n, sizeof own));
        if (auto done = wait(); !done)
            return done.error();
        std::vector<std::string> gathered(rank() == 0 ? n : 0);
        for (std::size_t r = 1; r < gathered.size(); ++r) {
            gathered[r].resize(sizes[r]);
            all.receive(bytesOf(gathered[r].data()), sizes[r], static_cast<int>(r));
        }
        if (rank() > 0)
            all.send(bytesOf(bytes.data()), bytes.size(), 0);
        if (auto done = wait(); !done)
            return done.error();
        if (rank() == 0)
            gathered[0] = std::move(bytes);
        return gathered;
    }

    std::unique_ptr<Communicator> communicator() override {
        return makeMpiCommunicator(m_connection, m_small);
    }
    void poison(const std::string& reason) override { m_connection->poison(reason); }
    void tell(std::string bytes) override {
        m_connection->all->sendNote(0, MpiConnection::kTold + bytes);
    }
    std::vector<std::string> told() override {
        m_connection->takeNotes();
        return m_connection->told();
    }
    void watchOthers(double seconds, std::function<void(const std::string&)> giveUp) override {
        if (size() < 2)
            return;
        if (!m_pulse)
            m_pulse = std::make_unique<MpiPulse>(m_connection);
        m_pulse->watch(seconds, std::move(giveUp));
    }

private:
    Result<void> wait() {
        auto alive = m_connection->alive();
        return alive ? m_connection->wait(*m_connection->all) : alive;
    }

    std::shared_ptr<MpiConnection> m_connection;
    const std::size_t m_small;
    std::unique_ptr<MpiPulse> m_pulse;
};

}  // namespace

Result<MpiLibrary*> loadMpi() {
    auto library = findPlugin("mpi");
    if (!library)
        return Error{"this installation has no MPI: " + library.error().message +
                         " (it is built where Open MPI's headers are: packaging/setup.sh "
                         "installs them)",
                     library.error().place};
    auto entry = loadPlugin(*library, "shardwrightMpi");
    if (!entry)
        return entry.error();
    std::string error;
    MpiLibrary* mpi = reinterpret_cast<MpiEntry*>(*entry)(error);
    if (!mpi)
        return Error{error, library->string()};
    return mpi;
}

std::unique_ptr<RunProcesses> connectMpi(MpiLibrary& library, int count, std::size_t small) {
    return std::make_unique<MpiProcesses>(library, count > 0 ? count : library.size(), small);
}

}  // namespace shardwright
