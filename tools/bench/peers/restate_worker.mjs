// The Node worker for Restate, as its documentation says.
import * as restate from "@restatedev/restate-sdk";

// The SDK calls it; Node has it since 22.
Promise.withResolvers ??= function withResolvers() {
  let resolve, reject;
  const promise = new this((onResolved, onRejected) => {
    [resolve, reject] = [onResolved, onRejected];
  });
  return { promise, resolve, reject };
};

const job = restate.workflow({
  name: "Job",
  handlers: {
    run: async (ctx) => {
      await ctx.run("first", () => {});
      await ctx.run("second", () => {});
      await ctx.run("third", () => {});
    },
  },
});

const parked = restate.workflow({
  name: "Parked",
  handlers: {
    run: async (ctx) => {
      await ctx.promise("go");
      return ctx.run("resumed", () => Date.now() / 1000);
    },
    go: async (ctx) => {
      await ctx.promise("go").resolve("now");
    },
  },
});

restate.serve({ services: [job, parked], port: Number(process.argv[2]) });
