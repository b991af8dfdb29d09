/** Milliseconds of CPU time this process has used: unlike the time of day it does not depend on other load. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
