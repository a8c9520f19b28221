// The JSON of tempo-web: the answers of the command line (doc/reference/json.md).
export interface Network {
  name: string; state: string; master: string; master_id: string; epoch_round: number; listed: number; heir: string;
  root: string; hops: number; kernel_stamps: boolean; hardware_stamps: boolean;
}
export interface Member {
  name: string; id: string; address: string; role: string; self: boolean; faulty: boolean; heard_ago_s: number;
  state: string; only_mentioned: boolean; status: string; uptime_s?: number; version: string; hears?: number;
  rate_ppm?: number; sigma_us?: number; bound_us?: number; offset_us?: number; misses_this_host_s?: number;
}
export interface Status {
  version: string; name: string; id: string; cluster: string; uptime_s: number; profile: string; authenticated: boolean;
  clock: string; status: string; time_ns: string; earliest_ns: string; latest_ns: string; offset_us: number;
  rate_ppm: number; timescale_generation: number; exchanges: number; reference: string; may_lead: boolean; locks: string;
  bound_age_s?: number; bound_round_trip_us?: number; bound_drift_us?: number; bound_reference_us?: number;
  bound_other_us?: number; utc_bound_us?: number; warnings: string[]; networks: Network[]; members: Member[];
  counters?: Record<string, number>;
}
export interface Client { pid: number; shared: boolean; inside: boolean; since_s: number; token: string; }
export interface Lock {
  name: string; kind: string; shared: boolean; holder: string; here: boolean; left_s: number; clients: Client[];
  elsewhere: { host: string; shared: boolean; since_s: number }[];
}
export interface Voter { host: string; votes: number; reachable: boolean; state: string; heard_ago_s: number; }
export interface Locks {
  guarantee: string; obstacle: string; voters: Voter[]; votes_needed: number; losses_survived?: number; locks: Lock[];
}
export interface Group {
  name: string; leader: string; term: string; here: boolean; criterion: string; algorithm: string; held: string;
  state: string; candidates: { host: string; capacity: string; here: boolean }[];
}
export interface Finding { level: string; what: string; cure: string; code: string; evidence: string; }
export interface TempoEvent { name: string; at_ns: string; text: string; }
export interface Move { at_ns: string; what: string; name: string; from: string; to: string; token: string; }
export interface State {
  tempod: { connected: boolean; error: string };
  status: Status | null;
  locks: Locks | null;
  groups: { groups: Group[] } | null;
  findings: { findings: Finding[] } | null;
  events: TempoEvent[];
  moves: Move[];
}
export interface History { step_s: number; points: [number, number, number, number][]; }
