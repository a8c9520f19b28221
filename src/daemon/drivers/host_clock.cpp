#include "daemon/drivers/host_clock.h"

namespace tempo::daemon {

template class Runtime<host::Host, HostClock>;

}  // namespace tempo::daemon
