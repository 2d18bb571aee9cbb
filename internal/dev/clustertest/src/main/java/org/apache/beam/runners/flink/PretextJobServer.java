package org.apache.beam.runners.flink;

import java.util.List;
import java.util.UUID;
import org.apache.beam.model.pipeline.v1.RunnerApi;
import org.apache.beam.runners.jobsubmission.JobInvocation;
import org.apache.beam.sdk.io.FileSystems;
import org.apache.beam.sdk.options.PipelineOptionsFactory;
import org.apache.beam.sdk.util.construction.PipelineOptionsTranslation;
import org.apache.beam.vendor.grpc.v1p60p1.com.google.protobuf.Struct;
import org.apache.beam.vendor.guava.v32_1_2_jre.com.google.common.util.concurrent.ListeningExecutorService;

/**
 * Beam's job server for a cluster that has Beam's runner in Flink's lib/: the jobs that it
 * submits bring no jars. Beam's own job server scans its class path for each job and uploads
 * all of it. The options are the same. The package is Beam's, whose configuration has no
 * public getters.
 */
public final class PretextJobServer extends FlinkJobInvoker {
  private final FlinkJobServerDriver.FlinkServerConfiguration config;

  private PretextJobServer(FlinkJobServerDriver.FlinkServerConfiguration config) {
    super(config);
    this.config = config;
  }

  @Override
  protected JobInvocation invokeWithExecutor(
      RunnerApi.Pipeline pipeline, Struct settings, String token, ListeningExecutorService executor) {
    FlinkPipelineOptions options = PipelineOptionsTranslation.fromProto(settings).as(FlinkPipelineOptions.class);
    if (FlinkPipelineOptions.AUTO.equals(options.getFlinkMaster())) {
      options.setFlinkMaster(config.getFlinkMaster());
    }
    options.setRunner(null); // a class, which cannot travel with the options
    String id = options.getJobName() + "_" + UUID.randomUUID();
    return createJobInvocation(
        id, token, executor, pipeline, options, new FlinkPipelineRunner(options, config.getFlinkConfDir(), List.of()));
  }

  public static void main(String[] args) {
    FileSystems.setDefaultPipelineOptions(PipelineOptionsFactory.create());
    FlinkJobServerDriver.FlinkServerConfiguration config = FlinkJobServerDriver.parseArgs(args);
    FlinkJobServerDriver.fromConfig(config, () -> new PretextJobServer(config)).run();
  }
}
