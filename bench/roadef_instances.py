"""Instances in the manner of the ROADEF/EURO 2012 challenge's sets A, B and X, drawn by a seed.

What a seed draws: a kind (below), then sizes, how full machines are, how many metrics are transient and how far these bind, groups
with spreads and dependencies, locations and neighbourhoods, balances, costs of moves. The first assignment keeps all rules: machines
get capacities for what they are given where nothing else fits, and spreads and dependencies are drawn from what holds there. So the
rules never contradict each other, and there is much to gain, for objects are put anywhere.
"""
import collections
import random

# Of these no search is ever tuned: they are for judging it.
RESERVED = range(9001, 9021)

# kind: (machines, processes, metrics), (lowest, highest) share of capacities in use, of transient metrics, (lowest, highest) safety
# capacity in shares of capacity, chance of a balance.
KINDS = {
    "a": ((30, 100), (200, 1_000), (2, 12), (0.72, 0.88), 0.25, (0.75, 0.9), 0.5),
    "b": ((100, 500), (3_000, 20_000), (3, 12), (0.75, 0.9), 0.3, (0.8, 0.9), 0.4),
    "x": ((100, 1_000), (3_000, 30_000), (3, 12), (0.7, 0.9), 0.3, (0.8, 0.95), 0.4),
    # Safety capacities are above what is used, so that an optimum costs little more than its moves.
    "low": ((50, 300), (500, 10_000), (2, 6), (0.6, 0.75), 0.3, (0.9, 0.97), 0),
    # Nearly full of transient metrics: what moves is counted twice and bars the way for others.
    "transient": ((30, 150), (500, 5_000), (3, 8), (0.86, 0.93), 0.7, (0.75, 0.85), 0.4),
}


def logarithmic(draw, low, high):
    return low * (high / low) ** draw.random()


class Instance:
    def __init__(self, seed):
        self.seed = seed
        draw = self.draw = random.Random(f"roadef {seed}")
        self.kind = draw.choice(sorted(KINDS))
        machines, processes, metrics, full, transient, safety, balance = KINDS[self.kind]
        self.machines = round(logarithmic(draw, *machines))
        self.processes = round(logarithmic(draw, *processes))
        self.metrics = draw.randint(*metrics)
        self.full = draw.uniform(*full)
        self.safety = safety
        self.transient = [draw.random() < transient for _ in range(self.metrics)]
        if self.kind == "transient":
            self.transient[0] = True
        locations = round(logarithmic(draw, 4, self.machines))
        neighbourhoods = round(logarithmic(draw, 1, min(locations, 30)))
        # Locations lie within neighbourhoods, and every one has a machine.
        self.location = [machine if machine < locations else draw.randrange(locations) for machine in range(self.machines)]
        self.neighbourhood = [location % neighbourhoods for location in self.location]
        self.draw_services()
        self.draw_needs()
        self.assign()
        self.draw_rules()
        self.draw_costs(balance)

    def draw_services(self):
        draw = self.draw
        largest = max(1, min(self.machines // 2, draw.choice([4, 10, 25, 50])))
        self.service = []
        self.services = 0
        while len(self.service) < self.processes:
            size = min(round(logarithmic(draw, 1, largest + 0.49)), self.processes - len(self.service))
            self.service += [self.services] * size
            self.services += 1
        draw.shuffle(self.service)

    def draw_needs(self):
        # Needs of a metric span three orders of magnitude. Those of a service's processes are alike.
        draw = self.draw
        of_service = [[round(logarithmic(draw, 900, 900_000)) for _ in range(self.metrics)] for _ in range(self.services)]
        self.need = [[max(1, round(amount * draw.uniform(0.9, 1.1))) for amount in of_service[service]] for service in self.service]

    def assign(self):
        """Larger ones first, anywhere where they fit; where nothing is found in a few tries, the last try's machine grows."""
        draw = self.draw
        sums = [sum(need[metric] for need in self.need) for metric in range(self.metrics)]
        sizes = [logarithmic(draw, 1, draw.choice([1.5, 3, 8])) for _ in range(self.machines)]
        self.capacity = [[round(sums[metric] / self.full * size / sum(sizes) * draw.uniform(0.9, 1.1)) for metric in range(self.metrics)]
                         for size in sizes]
        used = [[0] * self.metrics for _ in range(self.machines)]
        taken = collections.defaultdict(set)
        self.first = [0] * self.processes
        size_of = [max(amount / total for amount, total in zip(need, sums)) for need in self.need]
        for process in sorted(range(self.processes), key=lambda process: -size_of[process]):
            on, need = taken[self.service[process]], self.need[process]
            for _ in range(60):
                machine = draw.randrange(self.machines)
                if machine in on:
                    continue
                if all(have + more <= most for have, more, most in zip(used[machine], need, self.capacity[machine])):
                    break
            else:
                while machine in on:
                    machine = draw.randrange(self.machines)
            on.add(machine)
            self.first[process] = machine
            used[machine] = [have + more for have, more in zip(used[machine], need)]
            self.capacity[machine] = [max(most, have) for most, have in zip(self.capacity[machine], used[machine])]

    def draw_rules(self):
        draw = self.draw
        at = collections.defaultdict(lambda: (set(), set()))
        for process, machine in enumerate(self.first):
            locations, neighbourhoods = at[self.service[process]]
            locations.add(self.location[machine])
            neighbourhoods.add(self.neighbourhood[machine])
        share = draw.choice([0.05, 0.2, 0.5])
        self.spread = [draw.randint(1, len(at[service][0])) if draw.random() < share else 0 for service in range(self.services)]
        self.depends = [[] for _ in range(self.services)]
        most, share = draw.choice([0, 1, 3, 10]), draw.choice([0.05, 0.2, 0.5])
        for service in range(self.services):
            if draw.random() >= share:
                continue
            for other in draw.sample(range(self.services), min(self.services, 4 * most)):
                if other != service and len(self.depends[service]) < most and at[service][1] <= at[other][1]:
                    self.depends[service].append(other)

    def draw_costs(self, balance):
        draw = self.draw
        shares = [draw.uniform(*self.safety) for _ in range(self.metrics)]
        self.safe = [[round(most * share) for most, share in zip(capacity, shares)] for capacity in self.capacity]
        self.weights = [draw.choice([1, 10, 10, 10]) for _ in range(self.metrics)]
        pairs = [(a, b) for a in range(self.metrics) for b in range(self.metrics) if a != b]
        self.balances = [(*draw.choice(pairs), draw.randint(1, 4), 10) for _ in range(draw.randint(1, 3) if draw.random() < balance else 0)]
        self.process_cost = [draw.choice([1, 1, 1, draw.randint(1, 1000)]) for _ in range(self.processes)]
        self.distance = [[0 if a == b else 1 if self.neighbourhood[a] == self.neighbourhood[b] else 2 for b in range(self.machines)]
                         for a in range(self.machines)]

    def model(self):
        lines = [[self.metrics]]
        lines += [[int(transient), weight] for transient, weight in zip(self.transient, self.weights)]
        lines.append([self.machines])
        lines += [[self.neighbourhood[machine], self.location[machine], *self.capacity[machine], *self.safe[machine], *self.distance[machine]]
                  for machine in range(self.machines)]
        lines.append([self.services])
        lines += [[self.spread[service], len(self.depends[service]), *self.depends[service]] for service in range(self.services)]
        lines.append([self.processes])
        lines += [[self.service[process], *self.need[process], self.process_cost[process]] for process in range(self.processes)]
        lines.append([len(self.balances)])
        for first, second, target, weight in self.balances:
            lines += [[first, second, target], [weight]]
        lines.append([1, 10, 100])
        return "".join(" ".join(map(str, line)) + "\n" for line in lines)

    def __str__(self):
        return (f"{self.kind}: {self.machines} machines, {self.processes} processes in {self.services} services, {self.metrics} metrics, "
                f"{sum(self.transient)} transient, {self.full:.0%} full, {len(self.balances)} balances")


def generate(folder, seeds):
    folder.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        instance = Instance(seed)
        (folder / f"model_g{seed}.txt").write_text(instance.model())
        (folder / f"assignment_g{seed}.txt").write_text(" ".join(map(str, instance.first)) + "\n")
        print(f"g{seed}: {instance}", flush=True)
