# Reads a formula as Homebrew does, with a stand-in for its classes, and installs the archive for this machine into a folder.
#   formula.rb FORMULA FOLDER_OF_ARCHIVES
require "digest"
require "fileutils"
require "tmpdir"
require "uri"

module OS
  def self.mac? = RUBY_PLATFORM.include?("darwin")
  def self.linux? = RUBY_PLATFORM.include?("linux")
end

module Hardware
  class CPU
    def self.arm? = RUBY_PLATFORM.match?(/aarch64|arm64/)
    def self.intel? = RUBY_PLATFORM.include?("x86_64")
  end
end

# A folder of an installation: files are copied to it.
class Place
  def initialize(path) = @path = path

  def install(*files)
    FileUtils.mkdir_p(@path)
    files.flatten.each do |file|
      pairs = file.is_a?(Hash) ? file : { file => File.basename(file) }
      pairs.each { |from, name| FileUtils.cp(from, File.join(@path, name)) }
    end
  end

  def /(name) = File.join(@path, name)
  def to_s = @path
end

class Formula
  class << self
    %i[desc homepage version license url sha256].each do |word|
      define_method(word) { |value = nil| value ? instance_variable_set("@#{word}", value) : instance_variable_get("@#{word}") }
    end
    def test(&block) = @test = block
    def check(formula) = formula.instance_eval(&@test)
  end

  def initialize(root) = @root = root
  def version = self.class.version
  %i[bin man1 bash_completion zsh_completion fish_completion doc].each do |place|
    define_method(place) { Place.new(File.join(@root, place.to_s)) }
  end
  def shell_output(command) = `#{command}`
  def assert_match(part, whole) = whole.include?(part) || raise("expected #{part} in #{whole}")
  def system(*command) = Kernel.system(*command, out: File::NULL) || raise("#{command} failed")
end

load File.expand_path(ARGV[0])
raise "no archive for this machine" unless Rescreen.url
archive = File.join(ARGV[1], File.basename(URI(Rescreen.url).path))
raise "the digest of #{archive} is not that of the formula" unless Digest::SHA256.file(archive).hexdigest == Rescreen.sha256

Dir.mktmpdir do |folder|
  Kernel.system("tar", "-xzf", archive, "-C", folder, "--strip-components=1") || raise("#{archive} cannot be unpacked")
  formula = Rescreen.new(File.join(folder, "installed"))
  Dir.chdir(folder) { formula.install }
  Rescreen.check(formula)
end
