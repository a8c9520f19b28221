"""Small machines for the guides: network, mount and host-name namespaces on one switch, with stand-ins for the programs that
need a whole system (apt, systemctl, journalctl, sudo). None may set the clock of this machine: tempod steers a software clock
and has no right to set another one."""

import os
import pathlib
import signal
import subprocess
import time

BIN = os.environ["TEMPO_BIN"]  # the built programs
SOURCE = pathlib.Path(os.environ["TEMPO_SOURCE"])

SUDO = """#!/bin/sh
exec "$@"
"""

# Accepts what Debian's apt would: the names of packages that packaging/debian builds, and a local file of one.
APT = """#!/bin/sh
verb=$1; shift
for word; do
  case $word in -*) continue ;; esac
  name=$(basename "$word"); name=${name%%_*}; name=${name%.deb}
  grep -qx "Package: $name" "$TEMPO_SOURCE/packaging/debian/control" || { echo "apt: there is no package '$name'" >&2; exit 100; }
  case $verb:$name in
    install:tempo)
      systemd-sysusers "$TEMPO_SOURCE/packaging/tempo.sysusers" >/dev/null 2>&1
      mkdir -p /etc/tempo /run/tempo /var/lib/tempo
      [ -e /run/tempod.pid ] && systemctl restart tempod || systemctl enable --now tempod ;;
    remove:tempo|purge:tempo) systemctl stop tempod ;;
    install:tempo-vip) systemd-sysusers "$TEMPO_SOURCE/packaging/tempo-vip.sysusers" >/dev/null 2>&1 ;;
  esac
done
case $verb in install|remove|purge) ;; *) echo "apt: unknown verb '$verb'" >&2; exit 100 ;; esac
"""

# tempod and tempo-vip as their units run them. `kill -s KILL` ends all their processes, and the unit starts them again.
SYSTEMCTL = """#!/bin/sh
verb=$1; shift
now= signal=TERM
while :; do
  case $1 in --now) now=yes; shift ;; -s) signal=$2; shift 2 ;; *) break ;; esac
done
unit=${1%.service}
[ -e "$TEMPO_SOURCE/packaging/$unit.service" ] || { echo "Failed: unit $unit.service not found." >&2; exit 5; }
case $unit in tempod|tempo-vip) ;; *) exit 0 ;; esac
log=/run/$unit.log
alive() { [ -s /run/$unit.pid ] && kill -0 "$(cat /run/$unit.pid)" 2>/dev/null; }
start() {
  alive && return
  if [ $unit = tempo-vip ]; then
    setsid tempo-vip >>$log 2>&1 </dev/null &
    echo $! >/run/$unit.pid
    return
  fi
  mkdir -p /run/tempo /var/lib/tempo /etc/tempo
  clock='--clock software'
  grep -q '^ *\\(clock\\|trusted\\)' /etc/tempo/tempo.toml 2>/dev/null && clock=
  tempod --check-config >>$log 2>&1 || { echo "Job for tempod.service failed; see 'journalctl -u tempod'." >&2; exit 1; }
  setsid tempod $clock >>$log 2>&1 </dev/null &
  echo $! >/run/tempod.pid
  for i in $(seq 100); do [ -S /run/tempo/tempod.sock ] && return; sleep 0.05; done
}
stop() {
  alive || return
  pid=$(cat /run/$unit.pid)
  kill "-$1" $(cat /proc/$pid/task/$pid/children) $pid 2>/dev/null
  for i in $(seq 100); do alive || break; sleep 0.05; done
}
case $verb in
  start) start ;;
  enable) [ -z "$now" ] || start ;;
  stop) stop TERM ;;
  disable) [ -z "$now" ] || stop TERM ;;
  restart) stop TERM; start ;;
  reload) kill -HUP "$(cat /run/$unit.pid)"; sleep 0.3 ;;
  kill) stop "$signal"; start ;;
  is-active) if alive; then echo active; else echo inactive; exit 3; fi ;;
  status) if alive; then echo "active (running)"; else echo "inactive (dead)"; exit 3; fi ;;
  *) echo "systemctl: unknown verb '$verb'" >&2; exit 1 ;;
esac
"""

JOURNALCTL = """#!/bin/sh
[ "$1 $2" = "-u tempod" ] || { echo "journalctl: use -u tempod" >&2; exit 1; }
exec tail -n 20 /run/tempod.log
"""

# Machines reach each other by the names of the guide; a remote shell is a shell in the other machine's namespaces.
SSH = """#!/bin/sh
machine=$1; shift
exec "$TEMPO_SSH" "$machine" "$*"
"""


def impossible():
    """Why namespaces cannot be made here; empty: they can."""
    if os.geteuid() != 0:
        return "needs root"
    done = subprocess.run(["unshare", "--net", "--mount", "--uts", "ip", "link", "set", "lo", "up"], capture_output=True, text=True)
    return "" if done.returncode == 0 else f"no namespaces: {done.stderr.strip()}"


class Machines:
    def __init__(self, names, directory):
        self.directory = pathlib.Path(directory)
        self.holders = {}
        self.children = []
        self.tools = self.directory / "tools"
        self.tools.mkdir()
        for name, text in (("sudo", SUDO), ("apt", APT), ("systemctl", SYSTEMCTL), ("journalctl", JOURNALCTL), ("ssh", SSH)):
            (self.tools / name).write_text(text)
            (self.tools / name).chmod(0o755)
        pids = self.directory / "pids"
        pids.mkdir()
        self.ssh = self.directory / "enter"
        self.ssh.write_text(f"#!/bin/sh\nexec nsenter -t \"$(cat {pids}/$1)\" -m -n -u setpriv --bounding-set=-sys_time sh -c \"$2\"\n")
        self.ssh.chmod(0o755)
        self._hold("switch", "ip link add br0 type bridge && ip link set br0 up")
        for number, name in enumerate(names, 1):
            home = self.directory / name
            home.mkdir()
            self._hold(name, f"""
              hostname {name} && ip link set lo up
              cp -a /etc {home}/etc && mkdir {home}/var {home}/run {home}/root
              rm -rf {home}/etc/tempo
              mount --bind {home}/etc /etc && mount --bind {home}/var /var/lib && mount --bind {home}/run /run
              mount --bind {home}/root /root""")
            (pids / name).write_text(str(self.holders[name].pid))
            self._in("switch", f"ip link add p{number} type veth peer name eth0 netns {self.holders[name].pid} && "
                               f"ip link set p{number} master br0 up")
            self._in(name, f"ip addr add 192.0.2.{number}/24 brd + dev eth0 && ip link set eth0 up")
        # Every machine has an id of its own.
        for number, name in enumerate(names, 1):
            (self.directory / name / "etc/machine-id").write_text(f"{number:032x}\n")

    def _hold(self, name, setup):
        process = subprocess.Popen(
            ["unshare", "--net", "--mount", "--uts", "--propagation", "private", "sh", "-c",
             f"set -e; {setup}\necho ready; exec sleep 3600"], stdout=subprocess.PIPE, text=True)
        self.holders[name] = process
        if process.stdout.readline() != "ready\n":
            raise RuntimeError(f"cannot make the machine {name}")

    def _in(self, name, command):
        subprocess.run(["nsenter", "-t", str(self.holders[name].pid), "-m", "-n", "-u", "sh", "-c", command], check=True)

    def start(self, name, command):
        """Starts a command of a machine's user; the caller waits for it."""
        environment = {"PATH": f"{self.tools}:{BIN}:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "TERM": "dumb",
                       "LC_ALL": "C.UTF-8", "TEMPO_SOURCE": str(SOURCE), "TEMPO_SSH": str(self.ssh)}
        # A machine's tempod outlives the command that started it, so the output is a file and not a pipe.
        output = open(self.directory / f"output-{len(self.children)}", "w+", encoding="utf-8")
        process = subprocess.Popen(
            ["nsenter", "-t", str(self.holders[name].pid), "-m", "-n", "-u", "setpriv", "--bounding-set=-sys_time", "bash", "-c",
             f"cd /root; {command}"], stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment,
            start_new_session=True)
        process.output = output
        self.children.append(process)
        return process

    def run(self, name, command, timeout=60):
        """Returns the exit status and the output of a command."""
        process = self.start(name, command)
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            status = process.wait()
        process.output.seek(0)
        return status, process.output.read()

    def close(self):
        for process in self.children:
            if process.poll() is None:
                try:
                    os.killpg(process.pid, signal.SIGTERM)
                except ProcessLookupError:
                    pass
        for name in self.holders:
            if name != "switch":
                subprocess.run(["nsenter", "-t", str(self.holders[name].pid), "-m", "-n", "-u", "sh", "-c",
                                "kill $(cat /run/tempod.pid /run/tempo-vip.pid 2>/dev/null)"], capture_output=True)
        time.sleep(0.5)
        for process in self.holders.values():
            process.kill()
            process.wait()
