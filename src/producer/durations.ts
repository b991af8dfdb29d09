/** "2 minutes", "45 seconds", "1 minute and 30 seconds": how long, as one would say it. */
export function spokenDuration(seconds: number): string {
  const unit = (count: number, name: string) => `${count} ${name}${count === 1 ? "" : "s"}`;
  const minutes = Math.floor(seconds / 60);
  const rest = seconds % 60;
  if (minutes === 0) return unit(rest, "second");
  if (minutes >= 120) return unit(Math.floor(minutes / 60), "hour");
  return rest === 0 || minutes >= 10 ? unit(minutes, "minute") : `${unit(minutes, "minute")} and ${unit(rest, "second")}`;
}
